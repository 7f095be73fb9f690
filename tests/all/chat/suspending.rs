//! Ctrl-Z in a shell with job control, and `fg`.

use super::trusting;
use bub_tests::Home;

/// The shell's notice of a stopped job.
const STOPPED: &str = "Stopped";

fn began(home: &Home) -> bool {
    home.workspace().join("began").exists()
}

#[test]
fn ctrl_z_suspends_a_chat_that_waits_and_fg_brings_the_line_back() {
    let home = trusting();
    let chat = home.bub(["chat"]).in_shell(80, 30);
    chat.waits();
    chat.write("ECHO:half").press(["C-z"]).sees(STOPPED);
    // The terminal is the shell's: it echoes input, and runs it at Enter.
    chat.say("echo $((20 + 22)) is typed").sees("\n42 is typed");
    chat.say("fg").until("the line again", |screen| screen.lines().last().is_some_and(|line| line == "› ECHO:half"));
    chat.say(" a loaf").sees("\nhalf a loaf");
    chat.waits();
    chat.say(",quit").until("the shell", |screen| screen.lines().last().is_some_and(|line| line == "shell>"));
}

#[test]
fn ctrl_z_suspends_a_turn_and_fg_redraws_it() {
    let home = trusting();
    let chat = home.bub(["chat"]).in_shell(80, 30);
    chat.waits();
    chat.say(r#"TOOL:bash {"cmd": "touch began; until [ -e go ]; do sleep 0.05; done; echo gone"}"#);
    chat.until("the tool running", |screen| began(&home) && screen.contains("Ctrl-C ends the turn"));
    chat.write("a draft").sees("› a draft");
    chat.press(["C-z"]).sees(STOPPED);
    let stopped = chat.screen();
    assert!(!stopped.contains("Ctrl-C ends the turn"), "the redrawn status is gone: {stopped}");
    chat.say("echo $((20 + 22)) is typed").sees("\n42 is typed");
    std::fs::write(home.workspace().join("go"), "").expect("a file");
    chat.say("fg").sees("tool said: gone");
    chat.until("the draft again", |screen| screen.lines().last().is_some_and(|line| line == "› a draft"));
    assert!(!chat.screen().contains("Ctrl-C ends the turn"), "{}", chat.screen());
}
