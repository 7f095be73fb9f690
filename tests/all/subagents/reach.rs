//! Which sessions a turn inside a turn may go on in: its own temporary one, and others as far as the principal, the token
//! and the turn's taint let it.

use super::results;
use crate::home;
use bub_tests::{Answer, Finished, Home, Serve, Server, programs, tape};
use serde_json::{Value, json};
use std::fs;

const PRIVATE: &str = "cli:private";

/// A home with a session in which the owner has said something private.
fn with_secret() -> Home {
    let home = home();
    home.run(["ECHO:the safe is behind the clock", "--session-id", PRIVATE])
        .finish()
        .says("[cli:local]\nthe safe is behind the clock\n");
    home
}

fn entries_of(home: &Home, session: &str) -> usize {
    let file = home.tape_file(session);
    if file.exists() { tape::read(&file).len() } else { 0 }
}

fn subagent(session: &str) -> Answer {
    Answer::tool_call("subagent", &json!({ "prompt": "what was said", "session": session }).to_string())
}

/// The files of this workspace were written by another person.
fn untrusted(home: &Home) {
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
}

#[track_caller]
fn is_untouched(home: &Home, before: usize, server: &Server) {
    assert_eq!(entries_of(home, PRIVATE), before, "something was written to the session");
    let requests: String = server.requests().iter().map(|request| request.body.clone()).collect();
    assert!(!requests.contains("behind the clock"), "a model has read the session");
}

#[test]
fn in_a_tainted_turn_another_session_needs_the_owners_word() {
    let home = with_secret();
    untrusted(&home);
    let before = entries_of(&home, PRIVATE);
    let server = Server::new([subagent(PRIVATE), Answer::text("done")]);
    home.run(["go"]).model(&server).finish().says_and_denies("[cli:local]\ndone\n");
    let result = results(&server, 1).remove(0);
    assert!(
        result.contains("denied") && result.contains("needs the owner's word") && result.contains(PRIVATE),
        "{result}"
    );
    is_untouched(&home, before, &server);

    // Its own temporary session is open as before, and so is that of the conversation.
    for session in ["temp", "inherit"] {
        let server = Server::new([subagent(session), Answer::text("inner"), Answer::text("done")]);
        home.run(["go"]).model(&server).finish().says("[cli:local]\ndone\n");
        assert_eq!(results(&server, 2).pop().as_deref(), Some("inner"), "{session}");
    }
}

#[test]
fn an_approved_nested_turn_continues_another_session_and_taints_it() {
    let home = with_secret();
    untrusted(&home);
    let server = Server::new([subagent(PRIVATE), Answer::text("inner"), Answer::text("done")]);
    home.run(["go", "--allow", "write"]).model(&server).finish().says("[cli:local]\ndone\n");
    let names: Vec<Value> =
        tape::read(&home.tape_file(PRIVATE)).iter().map(|entry| entry["payload"]["name"].clone()).collect();
    assert!(names.contains(&json!("turn.tainted")), "{names:?}");
}

#[test]
fn a_clean_owner_reaches_another_session_unasked() {
    let home = with_secret();
    let server = Server::new([subagent(PRIVATE), Answer::text("inner"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish().says("[cli:local]\ndone\n");
    assert!(server.requests()[1].body.contains("behind the clock"), "it is that session");
}

/// A turn inside the turn has no more than the one around it.
#[test]
fn a_doubly_nested_turn_in_a_tainted_turn_needs_an_approval_too() {
    let home = with_secret();
    untrusted(&home);
    let before = entries_of(&home, PRIVATE);
    let nested = json!({ "prompt": "p", "allowed_tools": ["subagent"] }).to_string();
    let server = Server::new([
        Answer::tool_call("subagent", &nested),
        subagent(PRIVATE),
        Answer::text("could not"),
        Answer::text("done"),
    ]);
    home.run(["go"]).model(&server).finish().says_and_denies("[cli:local]\ndone\n");
    assert!(results(&server, 2)[0].contains("needs the owner's word"), "{:?}", results(&server, 2));
    is_untouched(&home, before, &server);
}

fn tries(home: &Home, session: &str) -> Finished {
    home.configure("[plugins.trier]\ngrants = [\"agent\", \"hook:*\"]");
    home.configure(&format!("[plugins.trier.config]\ntries = [\"session:{session}\"]"));
    home.plugin("trier", programs::TRIER);
    let said = ["hi", "--channel", "telegram", "--chat-id", "1", "--sender-id", "friend"];
    home.run(said).watched().finish()
}

#[test]
fn a_plugin_of_the_users_enters_no_other_session_for_a_peer() {
    let home = with_secret();
    home.configure("[channels.telegram]\npeers = [\"friend\"]");
    let before = entries_of(&home, PRIVATE);
    let finished = tries(&home, PRIVATE);
    let report = &finished.saw_hook("run-model")[0]["try"];
    assert_eq!(report["kind"], "Denied", "{finished}");
    assert!(report["message"].as_str().is_some_and(|text| text.contains("only the owner")), "{finished}");
    assert_eq!(entries_of(&home, PRIVATE), before);
}

/// A token of the owner's that reaches some sessions.
fn token(home: &Home, prefix: &str) -> String {
    use sha2::{Digest, Sha256};
    let token = "a-token-for-the-sessions-of-a-team".to_owned();
    let hash: String = Sha256::digest(&token).iter().map(|byte| format!("{byte:02x}")).collect();
    let table = format!(
        "[[tokens]]\nname = \"team\"\nhash = \"{hash}\"\nscopes = [\"turns\"]\nsession_prefix = \"{prefix}\"\nprincipal = \"owner\""
    );
    home.configure(&table);
    token
}

fn serving<'h>(home: &'h Home, server: &Server) -> Serve<'h> {
    Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).model(server), &home.bub_home())
}

#[test]
fn a_token_reaches_no_session_beyond_its_prefix_through_turns_inside_its_turns() {
    let home = with_secret();
    let token = token(&home, "team/");
    let before = entries_of(&home, PRIVATE);
    let nested =
        |session: &str| json!({ "prompt": "p", "session": session, "allowed_tools": ["subagent"] }).to_string();
    let server = Server::new([
        // At once.
        subagent(PRIVATE),
        Answer::text("first"),
        // From a temporary one.
        Answer::tool_call("subagent", &nested("temp")),
        subagent(PRIVATE),
        Answer::text("inner"),
        Answer::text("second"),
        // From one that it reaches.
        Answer::tool_call("subagent", &nested("team/other")),
        subagent(PRIVATE),
        Answer::text("inner"),
        Answer::text("third"),
    ]);
    let serve = serving(&home, &server);
    for said in ["first", "second", "third"] {
        let turn = json!({ "content": "go", "session_id": "team/one" });
        let answer = serve.ask("POST", "/v1/turns").token(&token).json(&turn).send().ok();
        assert_eq!(answer["model_output"], said, "{answer}");
    }
    for request in [1, 4, 8] {
        let result = results(&server, request).pop().unwrap_or_default();
        assert!(result.contains("denied") && result.contains("begin with `team/`"), "{request}: {result}");
    }
    is_untouched(&home, before, &server);
    assert!(entries_of(&home, "team/other") > 0, "it may go on in a session that it reaches");
}

/// A channel without configuration is a stranger's: the token determines the principal, in nested turns too.
#[test]
fn a_nested_turn_of_the_owners_token_keeps_the_owner_as_principal() {
    let home = home();
    let server = Server::new([subagent("temp"), Answer::text("inner"), Answer::text("done")]);
    let serve = serving(&home, &server);
    let answer = serve.post("/v1/turns", &json!({ "content": "go", "session_id": "http:a" }));
    assert_eq!(answer["model_output"], "done");
    let tainted = tape::read(&home.tape_file("http:a")).iter().any(|entry| entry["payload"]["name"] == "turn.tainted");
    assert!(!tainted, "only the owner has spoken");
}
