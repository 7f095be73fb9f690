//! Servers over streamable HTTP.

use super::{noted, offered, result, results, secret, state, turn, with_web};
use crate::home;
use std::fs;

#[test]
fn a_model_calls_a_tool_over_http_in_the_session_that_the_server_began() {
    let (home, _web) = with_web("good", "");
    let calls = [("mcp_it_echo", r#"{"say":"hello"}"#), ("mcp_it_look", "{}"), ("mcp_it_read_resource", "{}")];
    let (finished, requests) = turn(&home, &calls, &["--allow", "run"]);
    assert_eq!(results(&requests), ["echo: hello", "look: ", "- test://one - one - The first."], "{finished}");
    assert!(offered(&requests[0]).contains(&"mcp_it_get_prompt"));
    let asked = noted(&home, "requests");
    assert!(asked[0].starts_with("initialize None None"), "{asked:?}");
    assert!(asked[1].starts_with("notifications/initialized session-1 2025-11-25"), "{asked:?}");
    assert_eq!(
        asked.iter().filter(|asked| asked.starts_with("initialize ")).count(),
        1,
        "one session for all: {asked:?}"
    );
    assert!(asked.iter().any(|asked| asked.starts_with("tools/call session-1 2025-11-25")), "{asked:?}");
}

#[test]
fn a_session_that_the_server_has_forgotten_is_begun_again() {
    let (home, _web) = with_web("good", "");
    let begin = [("mcp_it_echo", r#"{"say":"1"}"#)];
    fs::write(state(&home).join("forget"), "").unwrap();
    // It forgets at the first request with a session, in the middle of the greeting: that is not retried.
    let (finished, _) = turn(&home, &begin, &["--allow", "run"]);
    assert!(finished.stdout.ends_with("done\n"), "{finished}");
    let model = bub_tests::Server::ruled({
        let (forget, calls) = (state(&home).join("forget"), std::sync::atomic::AtomicUsize::new(0));
        move |_| match calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => bub_tests::Answer::tool_call("mcp_it_echo", r#"{"say":"1"}"#),
            1 => {
                fs::write(&forget, "").expect("the directory is there");
                bub_tests::Answer::tool_call("mcp_it_echo", r#"{"say":"2"}"#)
            }
            _ => bub_tests::Answer::text("done"),
        }
    });
    home.run(["call it", "--allow", "run"]).model(&model).finish().says("[cli:local]\ndone\n");
    let requests: Vec<_> = model.requests().iter().map(|request| request.json()).collect();
    assert_eq!(results(&requests).last().map(String::as_str), Some("echo: 2"));
    assert_eq!(noted(&home, "calls").iter().filter(|call| *call == "echo").count(), 2, "no call is made twice");
}

#[test]
fn an_answer_whose_stream_breaks_off_is_read_to_its_end() {
    let (home, _web) = with_web("resumes", "");
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"hello"}"#).0, "echo: hello");
    // After the priming event, and after the last event that was whole.
    assert_eq!(noted(&home, "resumed"), ["1 session-1 None", "2 session-1 None"]);
    assert_eq!(noted(&home, "calls"), ["echo"], "no call is made twice");
}

#[test]
fn an_answer_that_never_comes_is_asked_for_only_so_often() {
    let (home, _web) = with_web("resumes-without-end", "");
    let (said, _) = result(&home, "mcp_it_echo", r#"{"say":"hello"}"#);
    assert!(said.contains("the server `it` broke off 21 times before it answered"), "{said}");
    assert_eq!(noted(&home, "resumed").len(), 20);
}

#[test]
fn a_key_in_a_header_reaches_the_server_and_nothing_else() {
    let (home, web) = with_web("needs-key", "[mcp.it.headers]\nAuthorization = \"Bearer {{secret:it-key}}\"");
    secret(&home, "it-key", "k3y-of-the-test", &["127.0.0.1"]);
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"hello"}"#).0, "echo: hello");
    assert!(noted(&home, "requests").iter().all(|asked| asked.ends_with("Bearer k3y-of-the-test")));
    assert!(!super::kept(&home).contains("k3y-of-the-test"));
    secret(&home, "it-key", "k3y-of-the-test", &["api.example.com"]);
    let (said, _) = result(&home, "mcp_it_echo", "{}");
    assert!(said.contains("cannot be reached"), "a secret that is bound to another host stays here: {said}");
    drop(web);
    let (said, _) = result(&home, "mcp_it_echo", "{}");
    assert!(said.contains("the server `it` cannot be reached"), "{said}");
}

#[test]
fn a_server_without_sessions_is_spoken_to_without_initialize() {
    let home = home();
    let web = super::Web::start(&home, "no-initialize");
    let added = home.bub(["mcp", "add", "it", "--url", &web.base]).finish();
    assert!(added.code == Some(0) && added.stdout.contains("revision 2026-07-28"), "{added}");
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"hello"}"#).0, "echo: hello");
    let asked = noted(&home, "requests");
    assert!(asked.iter().any(|asked| asked.starts_with("tools/call None 2026-07-28")), "{asked:?}");
    home.configure("[mcp.it]\nprotocol = \"2026-07-28\"");
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"hello"}"#).0, "echo: hello");
    assert!(!noted(&home, "requests").iter().skip(asked.len()).any(|asked| asked.starts_with("initialize")));
    let script = super::script();
    let added = home.bub(["mcp", "add", "program", "--", "python3", &script, "no-initialize"]).finish();
    assert!(added.code == Some(0) && added.stdout.contains("revision 2026-07-28"), "{added}");
}

#[test]
fn a_server_without_a_session_id_works_and_an_older_revision_can_be_asked_for() {
    let home = home();
    let web = super::Web::start(&home, "bare");
    let added = home.bub(["mcp", "add", "it", "--url", &web.base]).finish();
    assert_eq!(added.code, Some(0), "{added}");
    home.configure("[mcp.it]\nprotocol = \"2025-06-18\"");
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"hello"}"#).0, "echo: hello");
    let asked = noted(&home, "requests");
    assert!(asked.iter().any(|asked| asked.starts_with("tools/call None 2025-06-18")), "{asked:?}");
}

#[test]
fn an_address_without_its_grant_is_not_asked() {
    let (home, web) = with_web("good", "");
    home.configure("[plugins.mcp]\ngrants = [\"process:*\"]");
    let (said, _) = result(&home, "mcp_it_echo", "{}");
    let host = web.base.strip_suffix("/mcp").unwrap();
    assert!(said.contains(&format!("bub-wasm plugin grant mcp http:{host}")), "{said}");
    assert!(noted(&home, "requests").is_empty());
}
