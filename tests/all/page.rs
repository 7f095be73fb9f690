//! The page of `serve`: its files, without a browser.

mod browser;

use crate::home;
use crate::serve::{echo, serve};

#[test]
fn the_page_is_readable_without_a_token_and_permits_nothing_of_other_origins() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let page = serve.strange("GET", "/").send();
    assert_eq!(page.status, 200, "{page:?}");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self';",
        "style-src 'self';",
        "connect-src 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
    // A link on another site leads to the page, and to nothing else.
    let linked = |path| serve.strange("GET", path).header("sec-fetch-site", "cross-site").send();
    assert_eq!(linked("/").status, 200);
    linked("/v1/openapi.json").refused(403, "origin");
    serve.strange("GET", "/").header("host", "evil.example").send().refused(421, "Host");
}

#[test]
fn every_file_that_the_page_names_is_served_and_stays_on_this_origin() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let page = serve.strange("GET", "/").send();
    let mut named = 0;
    for attribute in ["src=\"", "href=\""] {
        for rest in page.body.split(attribute).skip(1) {
            let address = rest.split('"').next().unwrap();
            assert!(!address.contains("//") && !address.starts_with("data:"), "`{address}` is of another origin");
            let path = format!("/{}", address.trim_start_matches('/'));
            let file = serve.strange("GET", &path).send();
            assert_eq!(file.status, 200, "{path}");
            assert!(file.header("etag").is_some() && file.header("content-security-policy").is_some(), "{path}");
            named += 1;
        }
    }
    assert!(named >= 2, "{}", page.body);
    assert!(!page.body.contains("<script>") && !page.body.contains("style=\"") && !page.body.contains(" onload"));
}

#[test]
fn a_file_is_sent_compressed_and_once() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let whole = serve.strange("GET", "/ui/app.css").send();
    let packed = serve.strange("GET", "/ui/app.css").header("accept-encoding", "br, gzip").send();
    assert_eq!((whole.header("content-encoding"), packed.header("content-encoding")), (None, Some("gzip")));
    let length = |said: &bub_tests::Said| said.header("content-length").unwrap().parse::<usize>().unwrap();
    assert!(length(&packed) < length(&whole));
    let tag = packed.header("etag").unwrap();
    let again = serve.strange("GET", "/ui/app.css").header("if-none-match", tag).send();
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

#[test]
fn a_path_that_names_no_file_of_the_page_is_not_found() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for path in
        ["/ui/", "/ui/none.js", "/ui/../index.html", "/ui/%2e%2e/Cargo.toml", "/ui/vendor/README.md", "/index.html"]
    {
        assert_eq!(serve.strange("GET", path).send().status, 404, "{path}");
    }
}
