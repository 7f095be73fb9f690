//! Each denial by the host is an event on a tape that is kept, with its reason, whose call it was, and how often.

use crate::home;
use bub_tests::{Answer, Home, Server, programs, tape};
use serde_json::{Value, json};
use std::fs;

/// The denials on the session's tape.
fn denied(home: &Home, session: &str) -> Vec<Value> {
    let entries = tape::read(&home.tape_file(session)).into_iter();
    let events = entries.filter(|entry| entry["payload"]["name"] == "plugin.denied");
    events
        .map(|event| {
            assert_eq!(event["meta"]["context"], false, "no model reads it: {event}");
            event["payload"]["data"].clone()
        })
        .collect()
}

/// The tape has so many denials with that reason and these members.
#[track_caller]
fn says(home: &Home, session: &str, reason: &str, members: &[(&str, &str)], times: u64) {
    let all = denied(home, session);
    let fits = |event: &&Value| {
        event["reason"] == reason
            && members.iter().all(|(key, text)| event[*key].as_str().is_some_and(|said| said.contains(text)))
    };
    let found: Vec<&Value> = all.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "`{reason}` {members:?}: {all:#?}");
    assert_eq!(found[0]["times"], times, "{all:#?}");
}

fn bash(cmd: &str) -> Answer {
    Answer::tool_call("bash", &json!({ "cmd": cmd }).to_string())
}

fn untrusted() -> Home {
    let home = home();
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
    home
}

#[test]
fn a_call_that_the_rules_deny_is_an_event() {
    let home = home();
    let server = Server::new([bash("true"), bash("true"), Answer::text("done")]);
    let said = ["go", "--channel", "telegram", "--chat-id", "1", "--sender-id", "stranger"];
    home.run(said).model(&server).finish();
    says(&home, "telegram:1", "policy", &[("plugin", "shell"), ("tool", "bash"), ("message", "only the owner")], 2);
}

#[test]
fn a_call_that_is_not_approved_is_an_event() {
    let home = untrusted();
    let server = Server::new([bash("true"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish();
    says(&home, "cli:local", "approval", &[("plugin", "shell"), ("tool", "bash")], 1);
}

#[test]
fn a_call_that_an_absent_gate_denies_is_an_event() {
    let home = home();
    home.configure("[plugins.guard]\non_fault = \"deny\"");
    let server = Server::new([bash("true"), Answer::text("done")]);
    home.run(["go"]).model(&server).finish();
    says(&home, "cli:local", "gate", &[("plugin", "guard"), ("tool", "bash")], 1);
}

#[test]
fn a_path_and_an_address_out_of_reach_are_events() {
    let home = home();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    let read = Answer::tool_call("fs_read", r#"{"path": "../outside.txt"}"#);
    let fetch = Answer::tool_call("web_fetch", r#"{"url": "http://127.0.0.1:9/"}"#);
    let server = Server::new([read, fetch, Answer::text("done")]);
    home.run(["go"]).model(&server).finish();
    says(&home, "cli:local", "tool", &[("plugin", "workspace"), ("tool", "fs.read")], 1);
    says(&home, "cli:local", "grant", &[("plugin", "web"), ("grant", "http:http://127.0.0.1:9")], 1);
}

#[test]
fn a_hook_that_is_not_granted_is_an_event() {
    let home = home().strict();
    home.scripted("a", programs::SCRIPTED, "build-prompt = \"mine\"");
    home.configure("[plugins.a]\nfollow = true\ngrants = []");
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    says(&home, "cli:local", "hook", &[("plugin", "a"), ("grant", "hook:build-prompt")], 1);
}

#[test]
fn a_spent_budget_is_an_event() {
    let home = home();
    home.configure("[budget]\ntokens_per_day = 5");
    let server = Server::new([Answer::counted("one", 10), Answer::text("two")]);
    home.run(["go"]).model(&server).finish().says("[cli:local]\none\n");
    home.run(["go"]).model(&server).finish().fails("today's budget is spent");
    says(&home, "cli:local", "budget", &[("plugin", "builtin"), ("grant", "model:")], 1);
}

/// Of a temporary session nothing is kept, so the conversation around it says what was denied there.
#[test]
fn denials_in_nested_turns_are_on_the_tape_of_the_outermost() {
    let home = untrusted();
    let nested = json!({ "prompt": "p", "allowed_tools": ["subagent", "bash"] }).to_string();
    let deeper = || Answer::tool_call("subagent", &nested);
    let server = Server::new([
        deeper(),
        deeper(),
        bash("touch made"),
        Answer::text("denied"),
        Answer::text("inner"),
        Answer::text("done"),
    ]);
    home.run(["go"]).model(&server).finish().says_and_denies("[cli:local]\ndone\n");
    assert!(!home.workspace().join("made").exists());
    says(&home, "cli:local", "approval", &[("plugin", "shell"), ("tool", "bash")], 1);

    let home = crate::home();
    let mut answers: Vec<Answer> = (0..4).map(|_| deeper()).collect();
    answers.extend((0..4).map(|_| Answer::text("up")));
    home.run(["go"]).model(&Server::new(answers)).finish().says("[cli:local]\nup\n");
    says(&home, "cli:local", "limit", &[("tool", "subagent"), ("message", "3 deep")], 1);
}

#[test]
fn an_entry_that_only_the_host_may_write_is_an_event() {
    let home = home();
    home.configure("[plugins.trier]\ngrants = [\"tape:read\", \"tape:append\", \"hook:*\"]");
    home.configure("[plugins.trier.config]\ntries = [\"event:turn.tainted\"]");
    home.plugin("trier", programs::TRIER);
    home.run(["hi"]).finish().says("[cli:local]\ntried\n");
    says(&home, "cli:local", "reserved", &[("plugin", "trier"), ("message", "`turn.tainted`")], 1);
}

#[test]
fn however_much_is_denied_the_events_of_a_turn_are_bounded() {
    let home = home();
    let tries: Vec<String> = (0..200).map(|n| format!("\"secret:name-{n}\"")).collect();
    home.configure("[plugins.trier]\ngrants = [\"hook:*\", \"tape:read\"]");
    home.configure(&format!("[plugins.trier.config]\ntries = [\"tape:read\", {}]", tries.join(", ")));
    home.plugin("trier", programs::TRIER);
    home.run(["hi"]).finish().says("[cli:local]\ntried\n");
    let all = denied(&home, "cli:local");
    assert_eq!(all.len(), 65, "{all:#?}");
    assert_eq!(all.last(), Some(&json!({ "reason": "others", "times": 136 })));
}
