//! `web.fetch`, against servers on loopback that are granted by name.

use super::{WORKSPACE, add, call, error, in_turn, together, with};
use bub_tests::Home;
use bub_tests::listener::{Listener, response};
use serde_json::{Value, json};
use std::time::Duration;

/// The path that a request asks for.
fn asked(request: &str) -> String {
    request.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

fn redirect(to: &str) -> String {
    response(302, &format!("location: {to}\r\n"), "")
}

fn site(request: &str) -> String {
    let html = "content-type: text/html; charset=utf-8\r\n";
    let of = |kind: &str, body: &str| response(200, &format!("content-type: {kind}\r\n"), body);
    match asked(request).as_str() {
        "/page" => response(
            200,
            html,
            "<title>Title</title><nav>menu</nav><h2>Part</h2><p>Text <a href=\"x?y\">link</a></p><script>evil()</script>",
        ),
        "/text" => of("text/plain", "plain <b>text</b>\n"),
        "/json" => of("application/json", "{\"a\": 1}"),
        "/markdown" => of("text/markdown", "# Head\n"),
        "/image" => of("image/png", "12345"),
        "/unknown" => response(200, "", "a\0b"),
        "/empty" => of("text/plain", ""),
        "/long" => of("text/plain", &"0123456789".repeat(300_000)),
        "/one" => redirect("/two"),
        "/two" => redirect("three"),
        "/three" => redirect("/page#part"),
        "/round" => redirect("/round"),
        "/out" => redirect("file:///etc/passwd"),
        "/private" => redirect("http://127.0.0.2:9/x"),
        "/missing" => response(404, html, "<p>no"),
        "/down" => response(503, html, ""),
        "/slow" => {
            std::thread::sleep(Duration::from_secs(30));
            String::new()
        }
        "/deep" => response(200, html, &format!("<p>begin</p>{}", "<div>".repeat(200_000))),
        "/bold" => response(200, html, &format!("<p>begin</p>{}", "<b><i><a href=x>".repeat(60_000))),
        "/nested" => response(200, html, &format!("<p>begin</p>{}deep", "<blockquote><ul><li>".repeat(130))),
        "/tables" => response(200, html, &format!("<p>begin</p>{}", "<table><tr><td>".repeat(60_000))),
        "/wide" => response(200, html, &format!("<p>begin</p>{}", "<p>x<br>".repeat(200_000))),
        "/words" => {
            response(200, html, &format!("<p>begin</p>{}", "<p>some words &amp; more of them</p>".repeat(60_000)))
        }
        "/attributes" => response(200, html, &format!("<p>begin</p><p {}>", "a b=c d='e' ".repeat(100_000))),
        "/headers" => of("text/plain", request),
        "/cut" => "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nshort".to_owned(),
        _ => response(404, "", ""),
    }
}

/// A home whose `web` may ask that server.
fn granted(server: &Listener) -> Home {
    with("web", &[&format!("http:{}", server.base())])
}

#[track_caller]
fn fetched(home: &Home, server: &Listener, paths: &[&str]) -> Vec<Value> {
    let fetch = |path: &&str| ("web_fetch", json!({ "url": format!("{}{path}", server.base()) }));
    together(home, &paths.iter().map(fetch).collect::<Vec<_>>())
}

#[test]
fn a_page_is_markdown_and_other_text_is_as_it_is() {
    let server = Listener::new(site);
    let results = fetched(&granted(&server), &server, &["/page", "/text", "/json", "/markdown", "/one", "/empty"]);
    let page = format!("# Title\n\n## Part\n\nText [link]({}/x?y)", server.base());
    assert_eq!(results[0], page);
    assert_eq!(results[1], "plain <b>text</b>\n");
    // The result of a tool that is a JSON text is that text.
    assert!(results[2] == json!({ "a": 1 }) || results[2] == "{\"a\": 1}", "{}", results[2]);
    assert_eq!((&results[3], &results[4]), (&json!("# Head\n"), &json!(page)));
    assert!(results[5].as_str().is_some_and(|text| text.ends_with("has no text]")), "{}", results[5]);
}

#[test]
fn content_that_cannot_be_shown_is_reported_with_its_url() {
    let server = Listener::new(site);
    let cases = [
        ("/image", "tool", "is no text: `image/png`, 5 bytes"),
        ("/unknown", "tool", "is no text: of no declared type, 3 bytes"),
        ("/missing", "not_found", "answered with status 404"),
        ("/down", "temporary", "answered with status 503"),
        ("/round", "tool", "redirects more than 10 times"),
        ("/out", "invalid_input", "neither http nor https"),
        ("/cut", "tool", "could not be fetched"),
    ];
    let paths = cases.map(|(path, ..)| path);
    for ((path, kind, reason), result) in cases.iter().zip(fetched(&granted(&server), &server, &paths)) {
        let (found, message) = error(&result);
        assert!(found == *kind && message.contains(reason), "{path}: {found}: {message}");
        assert!(*path == "/out" || message.contains(&format!("`{}{path}`", server.base())), "{path}: {message}");
    }
    let rounds = server.heard().iter().filter(|request| asked(request) == "/round").count();
    assert_eq!(rounds, 11);
}

#[test]
fn an_endless_page_is_truncated_and_a_slow_one_times_out() {
    let server = Listener::new(site);
    let home = granted(&server);
    let results = fetched(&home, &server, &["/long"]);
    let text = results[0].as_str().expect("it is text");
    assert!(text.len() < (2 << 20) + 100 && text.ends_with("[the page is longer: only its beginning was read]"));
    let slow = json!({ "url": format!("{}/slow", server.base()), "timeout": 1 });
    let results = together(&home, &[("web_fetch", slow)]);
    let (kind, message) = error(&results[0]);
    assert!(kind == "temporary" && message.contains("took longer than 1 seconds"), "{message}");
}

/// Within the memory, the fuel and the stack of a guest.
#[test]
fn a_page_that_is_made_to_break_its_reader_does_not() {
    let server = Listener::new(site);
    let paths = ["/deep", "/bold", "/nested", "/tables", "/wide", "/words", "/attributes"];
    for (path, result) in paths.iter().zip(fetched(&granted(&server), &server, &paths)) {
        let text = result.as_str().unwrap_or_else(|| panic!("{path}: {result}"));
        assert!(text.contains("begin"), "{path}");
    }
}

#[test]
fn private_addresses_are_refused_unless_they_are_granted_by_name() {
    let server = Listener::new(site);
    let home = with("web", &["http:*", "http:http://*"]);
    let url = format!("{}/page", server.base());
    for url in
        [url.as_str(), "http://localhost:9/", "http://[::1]/", "http://169.254.169.254/latest", "https://10.0.0.1/"]
    {
        let results = together(&home, &[("web_fetch", json!({ "url": url }))]);
        let (kind, message) = error(&results[0]);
        assert!(kind == "denied" && message.contains("bub-wasm plugin grant web http:"), "{url}: {message}");
    }
    assert_eq!(server.heard().len(), 0);
    // A redirect is a request like any other.
    let results = fetched(&granted(&server), &server, &["/private"]);
    assert_eq!(error(&results[0]).0, "denied", "{}", results[0]);
}

#[test]
fn headers_go_to_the_host_that_they_were_meant_for_and_no_other() {
    let second = Listener::new(site);
    let target = format!("{}/headers", second.base());
    let first = Listener::new(move |request| match asked(request).as_str() {
        "/away" => redirect(&target),
        "/stay" => redirect("/headers"),
        _ => site(request),
    });
    let home = with("web", &[&format!("http:{}", first.base()), &format!("http:{}", second.base())]);
    let fetch = |path: &str| {
        let headers = json!({ "X-Key": "mine", "Accept": "text/x-mine" });
        ("web_fetch", json!({ "url": format!("{}{path}", first.base()), "headers": headers }))
    };
    let results = together(&home, &["/stay", "/away"].map(fetch));
    let seen = |at: usize| results[at].as_str().unwrap_or_default().to_ascii_lowercase();
    assert!(seen(0).contains("x-key: mine") && seen(0).contains("accept: text/x-mine"), "{}", results[0]);
    assert!(!seen(1).contains("mine") && seen(1).contains("accept: text/markdown, text/html"), "{}", results[1]);
}

#[test]
fn a_turn_that_read_the_web_asks_before_it_writes() {
    let server = Listener::new(site);
    let home = granted(&server);
    add(&home, "workspace", &[WORKSPACE]);
    let write = json!({ "path": "a", "content": "b" });
    let results = in_turn(
        &home,
        vec![
            call("fs_write", write.clone()),
            call("web_fetch", json!({ "url": format!("{}/text", server.base()) })),
            call("fs_write", write),
            call("fs_read", json!({ "path": "a" })),
        ],
    );
    assert!(results[0].is_string(), "{}", results[0]);
    assert_eq!(error(&results[2]).0, "denied");
    assert_eq!(results[3], "b");
}

#[test]
fn a_url_that_is_not_a_web_page_is_not_requested() {
    let home = with("web", &["http:*", "http:http://*"]);
    for url in ["file:///etc/passwd", "bub.invalid/a", "ftp://bub.invalid", "https://me:word@bub.invalid/", ""] {
        let results = together(&home, &[("web_fetch", json!({ "url": url }))]);
        let (kind, message) = error(&results[0]);
        assert!(kind == "invalid_input" && !message.contains("word@"), "{url}: {message}");
    }
}
