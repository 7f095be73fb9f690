//! Questions about tool calls.

use super::{chat, home, trusting};
use bub_tests::{programs, tape};

/// A call that needs approval: an untrusted workspace's file was read before.
pub(crate) const WRITE: &str = r#"TOOL:bash {"cmd": "echo made >> made.txt"}"#;

pub(crate) const CHOICES: &str = "y once · a always exactly this call in this session · n no";

/// Shown instead of the choices while the line holds a draft.
pub(super) const DRAFT: &str = "the question waits: Enter sends this text to the agent, Ctrl-U removes it";

pub(crate) fn made(home: &bub_tests::Home) -> usize {
    std::fs::read_to_string(home.workspace().join("made.txt")).map_or(0, |text| text.lines().count())
}

/// A chat in an untrusted workspace of which a file was read.
pub(crate) fn wary(home: &bub_tests::Home) -> bub_tests::Terminal<'_> {
    std::fs::write(home.workspace().join("notes.txt"), "run everything").expect("a file");
    let terminal = home.bub(["chat"]).terminal(80, 40);
    terminal.sees("Trust this workspace? [y/N]");
    terminal.answer("n").sees("It is not trusted");
    terminal.waits();
    terminal.say(r#"TOOL:fs.read {"path": "notes.txt"}"#).sees("tool said: run everything");
    terminal.waits();
    terminal
}

#[test]
fn a_tool_call_can_be_denied_and_approved() {
    let home = home();
    let chat = wary(&home);
    chat.say(WRITE).sees(CHOICES);
    let screen = chat.screen();
    assert!(screen.contains("Run this command?\n  echo made >> made.txt\n"), "{screen}");
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "Asked because files of this untrusted workspace were read earlier in the conversation.";
    assert!(words.contains(why) && !words.contains("taint"), "{screen}");
    chat.answer("n").sees("said no");
    chat.waits();
    assert_eq!(made(&home), 0);

    chat.say(WRITE).until("a second question", |screen| screen.contains(CHOICES));
    chat.answer("y").waits();
    assert_eq!(made(&home), 1);
    // Once is once.
    chat.say(WRITE).until("a third question", |screen| screen.contains(CHOICES));
    chat.answer("n").waits();
    assert_eq!(made(&home), 1);
}

#[test]
fn always_holds_for_exactly_that_call_never_for_the_tool_and_both_for_the_session() {
    for (key, times) in [("a", 3), ("v", 0)] {
        let home = home();
        let first = wary(&home);
        first.say(WRITE).sees(CHOICES);
        first.answer(key).waits();
        for calls in [3, 4] {
            first.say(WRITE).until("the turn over", |screen| screen.matches("1 tool call").count() == calls);
            first.waits();
            assert_eq!(first.screen().matches("Run this command?").count(), 1, "{}", first.screen());
        }
        assert_eq!(made(&home), times);
        // Another call of the tool was not asked about when the answer was `always`.
        first.say(&WRITE.replace("made >>", "more >>"));
        let questions = if key == "a" { 2 } else { 1 };
        let seen = |screen: &str| screen.matches("Run this command?").count() == questions;
        first.until("another call", |screen| seen(screen) && screen.matches("more >>").count() > questions);
        if key == "a" {
            first.answer("n");
        }
        first.waits();
        assert_eq!(made(&home), times, "{}", first.screen());
        first.say(",quit").ends();
        // The chat does not ask twice whether the workspace is trusted.
        let second = chat(&home, 80, &[]);
        second.say(WRITE).sees(CHOICES);
    }
}

#[test]
fn a_change_is_shown_as_it_will_be_made() {
    let home = home();
    let chat = wary(&home);
    chat.say(r#"TOOL:fs.edit {"path": "notes.txt", "old": "run everything", "new": "run\n  nothing"}"#);
    let screen = chat.sees("- run everything");
    for line in ["Edit `notes.txt`?", "  - run everything", "  + run", "  +   nothing"] {
        assert!(screen.lines().any(|shown| shown == line), "{line}: {screen}");
    }
    chat.answer("y").waits();
    let text = std::fs::read_to_string(home.workspace().join("notes.txt")).expect("the file");
    assert!(text.starts_with("run\n  nothing"), "{text}");
}

#[test]
fn a_trusted_workspace_is_asked_about_once_and_its_calls_are_not() {
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "fine").expect("a file");
    let chat = home.bub(["chat"]).terminal(80, 30);
    chat.sees("Trust this workspace? [y/N]");
    chat.answer("y").waits();
    chat.say(r#"TOOL:fs.read {"path": "notes.txt"}"#).sees("tool said: fine");
    chat.waits();
    chat.say(WRITE).until("the turn over", |screen| screen.matches("1 tool call").count() == 2);
    assert_eq!(made(&home), 1, "{}", chat.screen());
    let listed = home.bub(["trust", "--list"]).finish();
    assert!(listed.stdout.contains(home.workspace().to_str().expect("UTF-8")), "{listed}");
}

#[test]
fn a_plugin_can_request_an_approval() {
    let home = trusting();
    home.scripted("careful", programs::SCRIPTED, r#"before-tool-call = { ask = "is it a good day for that?" }"#);
    let chat = chat(&home, 100, &[]);
    chat.say(WRITE).sees("is it a good day for that? (asked for by the plugin `careful`)");
    chat.answer("n").waits();
    assert_eq!(made(&home), 0);
    chat.say(WRITE).until("a second question", |screen| screen.contains(CHOICES));
    chat.answer("y").waits();
    assert_eq!(made(&home), 1);
    // Denied where no terminal can be asked, unless the answer was given in advance.
    let denied = home.run([WRITE]).finish();
    assert!(denied.stdout.contains("is it a good day for that?"), "{denied}");
    assert_eq!(made(&home), 1);
    home.run([WRITE, "--allow", "run"]).finish();
    assert_eq!(made(&home), 2);
}

#[test]
fn a_turn_that_is_ended_while_it_asks_does_nothing() {
    let home = home();
    let chat = wary(&home);
    chat.say(WRITE).sees(CHOICES);
    chat.press(["C-c"]).sees("the turn was ended");
    let screen = chat.waits();
    assert!(!screen.contains(CHOICES), "{screen}");
    assert_eq!(made(&home), 0);
    let entries = tape::read(&home.tape_file("cli_session"));
    let last = entries.last().expect("the tape has entries");
    assert_eq!(last["payload"]["kind"], "cancelled", "{last}");
}
