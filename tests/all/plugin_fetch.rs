//! `plugin add` from a URL.

use crate::plugin_add::{does, new, plugin, sha256};
use bub_tests::listener::{Listener, response};
use bub_tests::programs;
use std::fs;

/// A server that gives these bytes, and at `/else` leads elsewhere.
fn serving(bytes: Vec<u8>, elsewhere: &str) -> Listener {
    let elsewhere = elsewhere.to_owned();
    Listener::new(move |request: &str| match request.split_whitespace().nth(1) {
        Some("/else/upper.wasm") => response(302, &format!("location: {elsewhere}\r\n"), "").into_bytes(),
        Some("/gone.wasm") => response(404, "", "").into_bytes(),
        _ => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", bytes.len());
            [head.into_bytes(), bytes.clone()].concat()
        }
    })
}

#[test]
fn a_download_is_added_if_its_digest_matches() {
    let home = new();
    let upper = fs::read(programs::PROMPT_UPPER).expect("it was built");
    let server = serving(upper.clone(), "http://example.com/upper.wasm");
    let at = |path: &str| format!("{}{path}", server.base());
    let (meant, other) = (sha256(&upper), "0".repeat(64));
    let refused = |path: &str, sha: &str, naming: &[&str]| {
        plugin(&home, ["add", &at(path), "--sha256", sha]).refuses(naming);
    };
    plugin(&home, ["add", &at("/upper.wasm")]).refuses(&["is not downloaded without --sha256"]);
    assert_eq!(server.heard().len(), 0, "no request was sent");
    refused("/upper.wasm", &other, &["has another SHA-256", &meant]);
    refused("/gone.wasm", &meant, &["cannot be fetched", "status 404"]);
    refused("/else/upper.wasm", &meant, &["cannot be fetched", "plugins are downloaded over https only"]);
    refused("", &meant, &["names no file; --name gives one"]);
    plugin(&home, ["add", "http://example.com/upper.wasm", "--sha256", &meant])
        .refuses(&["cannot be fetched", "plugins are downloaded over https only"]);
    assert!(!home.bub_home().join("plugins/upper.wasm").exists());

    // The query and the user part of a URL may hold a key.
    let with_key = at("/upper.wasm?key=hidden").replace("http://", "http://me:hidden@");
    let added = does(&home, ["add", &with_key, "--sha256", &meant.to_uppercase(), "--yes"]);
    assert!(added.contains("plugin `upper` is there now") && !added.contains("hidden"), "{added}");
    home.run(["hi"]).finish().says("[cli:local]\nHI\n");
}

#[test]
fn an_endless_download_is_aborted() {
    let home = new();
    let server = serving(vec![0; (64 << 20) + 1], "");
    let finished = plugin(&home, ["add", &format!("{}/large.wasm", server.base()), "--sha256", &"0".repeat(64)]);
    finished.refuses(&["cannot be fetched", "it is larger than 64 MiB"]);
}
