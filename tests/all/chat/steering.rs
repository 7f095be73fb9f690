//! Messages that are sent while a turn runs.

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

/// The user's messages of the conversation, in the order of the tape.
fn said(home: &Home) -> Vec<String> {
    let entries = tape::read(&home.tape_file("cli_session"));
    let by_users = entries.iter().filter(|entry| entry["kind"] == "message" && entry["payload"]["role"] == "user");
    by_users.filter_map(|entry| Some(entry["payload"]["content"].as_str()?.to_owned())).collect()
}

#[test]
fn a_message_is_added_before_the_next_step_of_the_turn() {
    let home = trusting();
    let chat = busy(&home);
    chat.say("ECHO:and be quick").sees("added at the next step");
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
fn a_command_waits_for_the_end_of_the_turn_and_an_inner_comma_is_text() {
    let home = trusting();
    let chat = busy(&home);
    chat.say(",tape.info").sees("waits for the end of this turn");
    chat.write("half a sen");
    chat.sees("› half a sen");
    go(&home);
    chat.sees("entries: ");
    // The draft is still there.
    chat.until("the rest of it", |screen| screen.lines().last().is_some_and(|line| line == "› half a sen"));
}

#[test]
fn after_an_interrupt_waiting_messages_return_to_the_input_line() {
    let home = trusting();
    let chat = busy(&home);
    chat.say("not yet heard").sees("added at the next step");
    chat.press(["C-c"]).sees("the turn was ended");
    chat.until("the message in the line", |screen| screen.lines().last().is_some_and(|line| line == "› not yet heard"));
    assert!(said(&home).iter().all(|said| !said.contains("not yet heard")));
}

#[test]
fn a_plugin_decides_how_a_message_is_handled() {
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

#[test]
fn messages_before_the_first_step_are_on_the_tape_in_order() {
    for fails in [false, true] {
        let home = trusting();
        // Another process holds the session, so the turn of the chat waits for it.
        let holder = home
            .run([
                r#"TOOL:bash {"cmd": "touch held; until [ -e go ]; do sleep 0.05; done"}"#,
                "--session",
                "cli_session",
            ])
            .start();
        let began = std::time::Instant::now();
        while !home.workspace().join("held").exists() {
            assert!(began.elapsed() < std::time::Duration::from_secs(60), "the session is never held");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let chat = chat(&home, 100, &[]);
        chat.say("ECHO:the first").sees("Ctrl-C ends the turn");
        chat.say("ECHO:the second")
            .until("it is heard", |screen| screen.matches("added at the next step").count() == 1);
        let third = if fails { "ERR500" } else { "ECHO:the third" };
        chat.say(third).until("it is heard, too", |screen| screen.matches("added at the next step").count() == 2);
        go(&home);
        assert_eq!(holder.finish().code, Some(0));
        chat.waits();
        let said: Vec<String> = said(&home).into_iter().skip_while(|said| !said.ends_with("ECHO:the first")).collect();
        let words = ["ECHO:the first", "ECHO:the second", third];
        let in_order = said.iter().zip(words).all(|(said, word)| said.ends_with(word));
        assert!(said.len() >= 3 && in_order, "{fails}: {said:?}\n{}", chat.screen());
    }
}
