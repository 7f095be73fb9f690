//! The tool `web.fetch`: a web page as Markdown. The host checks each request.

mod address;
mod bounds;
mod failure;
mod fetch;
mod markdown;
mod page;
mod prune;

bub_guest::plugin! {
    about: "A tool that fetches a page of the web and gives it as Markdown.",
    grants: {
        /// to fetch the pages that are asked for, over https
        WEB: Http("*"),
        /// to fetch those that are not on https
        _PLAIN: Http("http://*"),
    },
    tools: [fetch::fetch],
}
