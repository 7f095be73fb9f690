//! Receipts of what plugins reach over the network.

use super::{SESSION, is_whole, of_kind, receipts};
use crate::home;
use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Server};
use serde_json::json;
use std::fs;

#[test]
fn a_request_of_a_plugin_leaves_a_receipt_with_its_grant_host_and_bytes() {
    let site = Listener::new(|_: &str| response(200, "content-type: text/plain\r\n", "a page with a secret word"));
    let home = home();
    home.bub(["trust"]).finish();
    home.configure(&format!("[plugins.web]\ngrants = [\"http:{}\"]", site.base()));
    let fetch = Answer::tool_call("web_fetch", &json!({ "url": format!("{}/page?q=quiet", site.base()) }).to_string());
    let model = Server::new([fetch, Answer::text("read it")]);
    home.run([format!("read {}/page?q=quiet", site.base()).as_str()]).model(&model).finish().answers();
    let receipts = receipts(&home, SESSION);
    let host = site.base().trim_start_matches("http://").to_owned();
    let requests = of_kind(&receipts, "http");
    let [request] = &requests[..] else { panic!("{receipts:#?}") };
    assert_eq!((&request["plugin"], &request["method"]), (&json!("web"), &json!("GET")), "{request}");
    assert!(request["host"].as_str().is_some_and(|named| named.ends_with(&host)), "{request}");
    assert_eq!((&request["status"], &request["sent"]), (&json!(200), &json!(0)), "{request}");
    assert_eq!(request["received"], json!("a page with a secret word".len()), "{request}");
    assert!(request["digest"].as_str().is_some_and(|digest| digest.len() == 64) && request["ms"].is_u64(), "{request}");
    assert!(request["grant"].as_str().is_some_and(|grant| grant.starts_with("http:")), "{request}");
    // A connection is that of a program.
    assert!(of_kind(&receipts, "connection").is_empty(), "{receipts:#?}");
    // Names and numbers: neither the address nor the answer stands in them.
    let text = fs::read_to_string(home.sidecar_file(SESSION, "receipts")).expect("receipts");
    assert!(!text.contains("quiet") && !text.contains("secret word"), "{text}");
    assert_eq!(is_whole(&home)["tampered"], false);
}
