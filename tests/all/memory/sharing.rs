//! Memory that the sessions of a workspace share.

use super::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[test]
fn memory_saved_by_one_session_is_visible_in_all_sessions_of_the_workspace() {
    let home = keeping();
    call(&home, "memory.save", &json!({ "content": "Deploys on Fridays are forbidden." }));
    for session in [SESSION, "another", "cli_session"] {
        let system = system(&home, session);
        assert!(block(&system).is_some_and(|block| block.contains("Deploys on Fridays")), "{session}: {system}");
    }
    // In a conversation, too.
    let server = Server::new([Answer::text("hello")]);
    home.bub(["chat"]).input("hi\n").model(&server).finish().says("hello\n");
    assert!(server.requests()[0].body.contains("Deploys on Fridays"));
}

#[test]
fn memory_of_a_session_is_not_visible_in_others() {
    let home = keeping();
    call_in(&home, "one", "memory.save", &json!({ "content": "mine alone", "scope": "session" }));
    assert!(system(&home, "one").contains("## Long-term Memory of this Session\nmine alone"));
    assert_eq!(block(&system(&home, "other")), None);
}

#[test]
fn the_shared_memory_comes_before_the_sessions_own() {
    let home = keeping();
    call(&home, "memory.save", &json!({ "content": "own", "scope": "session" }));
    call(&home, "memory.save", &json!({ "content": "shared" }));
    let system = system(&home, SESSION);
    let block = block(&system).expect("something is remembered");
    assert!(block.contains("## Long-term Memory\nshared\n\n## Long-term Memory of this Session\nown"), "{block}");
}

#[test]
fn another_workspace_sees_nothing_of_it() {
    let home = keeping();
    call(&home, "memory.save", &json!({ "content": "the heron nests here" }));
    let elsewhere = home.workspace().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory");
    let server = Server::new([Answer::text("hello")]);
    let elsewhere = elsewhere.to_str().expect("UTF-8");
    home.bub(["-w", elsewhere, "run", "hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert!(!server.requests()[0].body.contains("the heron nests here"));
}

#[test]
fn saved_memory_is_visible_before_the_turn_ends() {
    let home = keeping();
    let server = Server::new([Answer::tool_call("memory_save", r#"{"content":"early"}"#), Answer::Silence]);
    let turn = home.run(["go on"]).model(&server).start();
    server.wait_for(2);
    assert_eq!(contents(&home, WORKSPACE), (1, Some("early".to_owned()), Vec::new()));
    assert!(system(&home, "another").contains("## Long-term Memory\nearly"));
    turn.interrupt();
    turn.finish();
}

#[test]
fn the_next_step_of_a_turn_sees_the_memory_saved_by_the_one_before_it() {
    for scope in ["workspace", "session"] {
        let home = keeping();
        let arguments = json!({ "content": "just now", "scope": scope }).to_string();
        let server = Server::new([Answer::tool_call("memory_save", &arguments), Answer::text("done")]);
        home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
        let messages = server.requests()[1].messages();
        let system = messages[0]["content"].as_str().unwrap_or_default();
        assert!(block(system).is_some_and(|block| block.contains("just now")), "{scope}: {system}");
    }
}

#[test]
fn two_turns_that_write_at_the_same_time_lose_nothing() {
    let home = keeping();
    let script = |who: &str| {
        let calls =
            (0..8).map(|n| format!("TOOL:memory.daily {{\"content\": \"- {who} {n}\", \"date\": \"2025-07-17\"}}"));
        calls.collect::<Vec<_>>().join(" ;; ")
    };
    let scripts = ["east", "west"].map(|who| (who, script(who)));
    let turns: Vec<_> =
        scripts.iter().map(|(who, script)| home.run([script.as_str(), "--session-id", who]).start()).collect();
    let mut output = String::new();
    for turn in turns {
        let finished = turn.finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        writeln!(output, "{finished}").expect("a string");
    }
    let (version, _, notes) = contents(&home, WORKSPACE);
    let found: BTreeSet<&str> = notes[0].1.lines().skip(2).collect();
    let expected: Vec<String> =
        ["east", "west"].iter().flat_map(|who| (0..8).map(move |n| format!("- {who} {n}"))).collect();
    assert_eq!(found, expected.iter().map(String::as_str).collect(), "{output}");
    assert_eq!((version, notes[0].1.lines().count()), (16, 18), "each once");
}

#[test]
fn a_nested_turn_sees_the_shared_memory_and_keeps_none_of_its_own() {
    let home = keeping();
    typed(&home, ",memory.save content='known to all'");
    let server = Server::new([
        Answer::tool_call("subagent", r#"{"prompt":"look"}"#),
        Answer::text("looked"),
        Answer::text("done"),
    ]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
    let inner = server.requests()[1].messages();
    let system = inner[0]["content"].as_str().unwrap_or_default();
    assert!(system.contains("known to all"), "{system}");
    // The tapes of the session and of the workspace, and no third.
    assert_eq!(tape::all(&home.tapes_dir()).len(), 2);
}

#[test]
fn memory_in_a_database_is_shared_too() {
    let home = keeping();
    home.configure("tape_store = \"sqlite:tapes.sqlite\"");
    for content in ["first", "second"] {
        call_in(&home, "one", "memory.save", &json!({ "content": content }));
    }
    assert!(system(&home, "two").contains("## Long-term Memory\nsecond"));
    assert!(typed(&home, ",memory.show").starts_with("workspace: version 2\n"));
    typed(&home, ",memory.forget second");
    assert_eq!(block(&system(&home, "two")), None);
}
