//! Tools, resources and prompts of servers that speak the Model Context Protocol, which the user has configured as
//! `[mcp.NAME]`.
//!
//! The host starts a server, keeps it, and carries lines or HTTP requests; all that a server says is read here, in a sandbox,
//! because it may be anything. A fresh instance serves each call: what a call must know of those before it is the text that the
//! host keeps beside the server ([`client::Known`]).

mod client;
mod content;
mod dialog;
mod events;
mod inspect;
mod listing;
mod message;
mod offers;
mod settings;
mod stdio;
mod text;
mod tools;
mod web;

bub_guest::plugin! {
    about: "Tools, resources and prompts of the MCP servers that you have configured as `[mcp.NAME]`.",
    grants: {
        /// to speak with the programs that you have configured as servers
        pub(crate) SERVERS: Program("*"),
        /// to speak with the servers whose addresses you have configured
        pub(crate) WEB: Http("*"),
        /// the same, where such a server has no encryption
        pub(crate) PLAIN: Http("http://*"),
        /// to send the keys that you have put into their headers
        _KEYS: Secret("*"),
    },
    hooks: {
        /// to show what a server offers
        commands: inspect::Inspect,
    },
    dynamic_tools: tools::ServerTools,
}
