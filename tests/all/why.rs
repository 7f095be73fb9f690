//! `why`: what decided about a tool call, whose text was in the conversation, and what would change the decision.

mod answered;

use crate::home;
use bub_tests::{Answer, Home, Server, programs, tape};
use serde_json::{Value, json};
use std::fs;

fn bash(cmd: &str) -> Answer {
    let function = json!({ "name": "bash", "arguments": json!({ "cmd": cmd }).to_string() });
    Answer::tool_calls(&[json!({ "id": "call_bash", "type": "function", "function": function })])
}

/// Why the call was decided about as it was: the facts by their words, several in one line each.
#[track_caller]
fn why(home: &Home, session: &str, id: &str) -> Value {
    let finished = home.bub(["why", id, "--session", session, "--json"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    serde_json::from_str(&finished.stdout).expect("it is JSON")
}

#[track_caller]
fn fact<'a>(explained: &'a Value, what: &str) -> &'a str {
    let facts = explained["facts"].as_array().expect("facts");
    let found = facts.iter().find(|fact| fact[0] == what);
    found.and_then(|fact| fact[1].as_str()).unwrap_or_else(|| panic!("no `{what}` in {explained:#}"))
}

#[track_caller]
fn says(explained: &Value, what: &str, text: &str) {
    let said = fact(explained, what);
    assert!(said.contains(text), "`{what}` says `{said}`, not `{text}`");
}

#[test]
fn a_denial_by_taint_names_the_file_that_was_read_its_entry_and_what_would_allow_the_call() {
    let home = home();
    fs::write(home.workspace().join("notes.txt"), "do as I say").expect("a file");
    let function = json!({ "name": "fs_read", "arguments": r#"{"path": "notes.txt"}"# });
    let read = Answer::tool_calls(&[json!({ "id": "call_read", "type": "function", "function": function })]);
    let server = Server::new([read, bash("touch made"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish();
    let explained = why(&home, "cli:local", "call_bash");
    assert_eq!((&explained["verdict"], &explained["made"]), (&"ask".into(), &false.into()), "{explained:#}");
    says(&explained, "asked for", r#"`bash` of plugin `shell`, which would run: {"cmd":"touch made"}"#);
    says(&explained, "by", "owner on channel `cli`");
    says(&explained, "decided by", "the owner is asked before a call that would run once text of another author");
    says(&explained, "owner's answer", "no owner could be asked");
    let entries = tape::read(&home.tape_file("cli:local"));
    let call = entries.iter().find(|entry| entry["kind"] == "tool_call").expect("the call that read");
    says(&explained, "taint", &format!("entry {} of the tape: fs_read", call["id"]));
    let remedies = explained["remedies"].to_string();
    assert!(remedies.contains("bub-wasm trust") && remedies.contains("--allow run"), "{remedies}");
    // By the entry of the event, and as text.
    let id = explained["id"].to_string();
    assert_eq!(why(&home, "cli:local", &id), explained);
    let printed = home.bub(["why", "call_bash"]).finish();
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(printed.stdout.contains("`bash` was asked about, and denied"), "{printed}");
    let listed = home.bub(["why"]).finish();
    assert!(listed.stdout.contains(&id) && listed.stdout.contains("`bash` was asked about"), "{listed}");
    // The next turn inherits the taint, and still names the call.
    let server = Server::new([bash("touch again"), Answer::text("done")]);
    home.run(["go on"]).model(&server).finish();
    let later = why(&home, "cli:local", "call_bash");
    assert_ne!(later["id"], explained["id"]);
    says(&later, "taint", &format!("entry {} of the tape", call["id"]));
}

#[test]
fn a_denial_by_a_rule_names_the_rule_and_its_line() {
    let home = home();
    home.configure("[process]\nenv = []\n[[process.rules]]\nprefix = \"ls\"\ndecision = \"allow\"");
    let file = home.bub_home().join("config.toml");
    let before = fs::read_to_string(&file).expect("a file");
    let rule = "\n[[process.rules]]\nprefix = [\"git\", \"push\"]\ndecision = \"deny\"\nwhy = \"not from here\"\n";
    fs::write(&file, format!("{before}{rule}")).expect("a file");
    let server = Server::new([bash("git push"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish();
    let explained = why(&home, "cli:local", "call_bash");
    assert_eq!((&explained["verdict"], &explained["made"]), (&"deny".into(), &false.into()), "{explained:#}");
    let text = fs::read_to_string(&file).expect("a file");
    let line =
        text.lines().enumerate().filter(|(_, line)| *line == "[[process.rules]]").nth(1).expect("the rule").0 + 1;
    says(&explained, "decided by", &format!("rule 2 of `[[process.rules]]`, line {line} of config.toml"));
    says(&explained, "decided by", "not from here");
    // The rule goes.
    fs::write(&file, before).expect("a file");
    says(&why(&home, "cli:local", "call_bash"), "decided by", "not in config.toml any more");
}

#[test]
fn a_rule_that_allows_in_a_tainted_turn_is_named_too() {
    let home = home();
    home.configure("[[process.rules]]\nprefix = \"ls\"\ndecision = \"allow\"\ntainted = true");
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
    let server = Server::new([bash("ls"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish().says("[cli:local]\ndone\n");
    let explained = why(&home, "cli:local", "call_bash");
    assert_eq!((&explained["verdict"], &explained["made"]), (&"allow".into(), &true.into()), "{explained:#}");
    says(&explained, "decided by", "rule 1 of `[[process.rules]]`");
    says(&explained, "taint", "workspace:");
}

#[test]
fn a_denial_by_principal_names_the_sender_and_the_table_of_the_channel() {
    let home = home();
    home.configure("[channels.telegram]\nowners = [\"me\"]");
    let server = Server::new([bash("true"), Answer::text("done")]);
    let said = ["go", "--channel", "telegram", "--chat-id", "1", "--sender-id", "stranger\u{1b}[31m"];
    home.run(said).model(&server).finish();
    let explained = why(&home, "telegram:1", "call_bash");
    assert_eq!(explained["verdict"], "deny", "{explained:#}");
    says(&explained, "by", "anonymous on channel `telegram`, sender `stranger");
    says(&explained, "decided by", "`[channels.telegram]`, line ");
    says(&explained, "taint", "channel:telegram");
    says(&explained, "taint", "entry ");
    assert!(explained["remedies"].to_string().contains("`owners` of `[channels.telegram]`"), "{explained:#}");
    let printed = home.bub(["why", "call_bash", "--session", "telegram:1"]).finish();
    assert!(!printed.stdout.contains('\u{1b}'), "{printed}");
}

#[test]
fn a_denial_by_a_grant_names_the_command_that_gives_it() {
    let home = home();
    home.bub(["trust"]).finish();
    let fetch = Answer::tool_call("web_fetch", r#"{"url": "http://127.0.0.1:9/"}"#);
    let server = Server::new([fetch, Answer::text("done")]);
    home.run(["go"]).model(&server).finish();
    let entries = tape::read(&home.tape_file("cli:local"));
    let denied = entries.iter().find(|entry| entry["payload"]["name"] == "plugin.denied").expect("it was denied");
    let explained = why(&home, "cli:local", &denied["id"].to_string());
    says(&explained, "decided by", "does not hold the grant");
    let remedies = explained["remedies"].to_string();
    assert!(remedies.contains("bub-wasm plugin grant web http:http://127.0.0.1:9"), "{remedies}");
}

#[test]
fn a_plugin_that_refuses_is_named() {
    let home = home();
    home.scripted("guard", programs::SCRIPTED, r#"before-tool-call = { deny = "not on my watch" }"#);
    let server = Server::new([bash("true"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish();
    let explained = why(&home, "cli:local", "call_bash");
    says(&explained, "decided by", "a plugin in front of the tool");
    says(&explained, "plugin", "`guard` says: not on my watch");
}

#[test]
fn a_call_of_the_owners_clean_turn_was_simply_allowed() {
    let home = home();
    home.bub(["trust"]).finish();
    let server = Server::new([bash("true"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish().answers();
    let explained = why(&home, "cli:local", "call_bash");
    assert_eq!((&explained["verdict"], &explained["made"]), (&"allow".into(), &true.into()));
    says(&explained, "decided by", "in the owner's clean turn no call is asked about");
    assert!(tape::read(&home.tape_file("cli:local")).iter().all(|entry| entry["payload"]["name"] != "policy.decided"));
}

#[test]
fn ids_that_are_not_there_and_sessions_without_a_tape_are_named() {
    let home = home();
    home.bub(["why", "x"]).finish().fails("has no tape");
    let server = Server::new([Answer::text("done")]);
    home.run(["go"]).model(&server).finish().answers();
    for id in ["call_9", "999999", "0", "18446744073709551615", "18446744073709551616", "\u{1b}[2J", "1"] {
        let finished = home.bub(["why", id]).finish();
        assert_eq!(finished.code, Some(1), "{finished}");
        assert!(finished.stderr.contains("no decision and no tool call"), "{finished}");
        assert!(!finished.stderr.contains('\u{1b}'), "{finished}");
    }
    home.bub(["why"]).finish().says("nothing was asked about or denied in this session\n");
}
