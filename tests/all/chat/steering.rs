//! What is said while a turn runs.

use super::{chat, trusting};
use bub_tests::{Home, Terminal, programs, tape};

/// A tool that runs until a file is there.
const WAIT: &str = r#"TOOL:bash {"cmd": "until [ -e go ]; do sleep 0.05; done; echo gone"}"#;

fn go(home: &Home) {
    std::fs::write(home.workspace().join("go"), "").expect("a file");
}

/// A chat with a turn that waits for `go`.
fn busy(home: &Home) -> Terminal<'_> {
    let chat = chat(home, 100, &[]);
    chat.say(WAIT).sees("bash until");
    chat
}

/// What people said in the conversation, in the order of the tape.
fn said(home: &Home) -> Vec<String> {
    let entries = tape::read(&home.tape_file("cli_session"));
    let by_users = entries.iter().filter(|entry| entry["kind"] == "message" && entry["payload"]["role"] == "user");
    by_users.filter_map(|entry| Some(entry["payload"]["content"].as_str()?.to_owned())).collect()
}

#[test]
fn a_message_is_heard_before_the_next_step_of_the_turn() {
    let home = trusting();
    let chat = busy(&home);
    chat.say("ECHO:and be quick").sees("heard at the next step");
    go(&home);
    chat.sees("\nand be quick");
    chat.waits();
    let said = said(&home);
    assert_eq!(said.len(), 3, "the first prompt, what was said, and the prompt of the step: {said:?}");
    assert!(said[1].ends_with("ECHO:and be quick"), "{said:?}");
    let starts = tape::read(&home.tape_file("cli_session"));
    let starts = starts.iter().filter(|entry| entry["payload"]["name"] == "loop.start").count();
    assert_eq!(starts, 1, "one turn");
}

#[test]
fn a_command_waits_for_the_end_of_the_turn_and_a_comma_in_mid_turn_is_none() {
    let home = trusting();
    let chat = busy(&home);
    chat.say(",tape.info").sees("waits for the end of this turn");
    chat.write("half a sen");
    chat.sees("› half a sen");
    go(&home);
    chat.sees("entries: ");
    // What was being typed is still there.
    chat.until("the rest of it", |screen| screen.lines().last().is_some_and(|line| line == "› half a sen"));
}

#[test]
fn who_ends_a_turn_has_what_was_not_heard_back_in_the_line() {
    let home = trusting();
    let chat = busy(&home);
    chat.say("not yet heard").sees("heard at the next step");
    chat.press(["C-c"]).sees("the turn was ended");
    chat.until("the message in the line", |screen| screen.lines().last().is_some_and(|line| line == "› not yet heard"));
    assert!(said(&home).iter().all(|said| !said.contains("not yet heard")));
}

#[test]
fn a_plugin_decides_what_becomes_of_a_message() {
    for (decision, told) in
        [("drop", "dropped by a plugin"), ("follow-up", "waits for the end"), ("steer", "next step")]
    {
        let home = trusting();
        home.scripted("porter", programs::SCRIPTED, &format!("admit-message = \"{decision}\""));
        let chat = busy(&home);
        chat.say("ECHO:and this").sees(told);
        go(&home);
        if decision != "drop" {
            chat.sees("\nand this");
        }
        chat.waits();
        let heard = said(&home).iter().any(|said| said.ends_with("ECHO:and this"));
        assert_eq!(heard, decision != "drop", "{decision}");
    }
}

#[test]
fn leaving_ends_the_turn() {
    let home = trusting();
    let chat = busy(&home);
    chat.say(",quit").ends();
}
