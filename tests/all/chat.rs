//! `chat`, in a terminal and without one.

mod arrivals;
pub(crate) mod asking;
mod lines;
mod meant;
mod plain;
mod resizing;
mod resume;
mod seeing;
mod steering;
mod suspending;
mod typed_ahead;

use crate::home;
use bub_tests::{Home, Terminal};

/// A home whose owner vouches for the workspace: nothing is asked before the conversation begins.
pub(crate) fn trusting() -> Home {
    let home = home();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    home
}

/// A chat in a terminal of that many columns that waits for its first line.
#[track_caller]
pub(crate) fn chat<'h>(home: &'h Home, columns: u16, more: &[&str]) -> Terminal<'h> {
    let terminal = home.bub(["chat"].into_iter().chain(more.iter().copied())).terminal(columns, 30);
    terminal.waits();
    terminal
}

#[test]
fn at_80_and_at_120_columns_a_conversation_reads_well() {
    for columns in [80, 120] {
        let home = trusting();
        let chat = chat(&home, columns, &[]);
        chat.sees("model offline:demo");
        chat.say("ECHO:a *word* and more of them").sees("\na word and more of them");
        chat.waits();
        let said = "one two three four five six seven eight nine ten ".repeat(6);
        chat.say(&format!("ECHO:{said}")).until("both answers", |screen| screen.matches(" tokens").count() == 2);
        let screen = chat.screen();
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{screen}");
        assert!(screen.lines().filter(|line| line.contains("one two three four")).count() >= 2, "{screen}");
        chat.say(",quit").ends();
    }
}

#[test]
fn a_tool_is_seen_running_and_afterwards_with_its_time() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    chat.say(r#"TOOL:bash {"cmd": "until [ -e go ]; do sleep 0.05; done; echo gone"}"#);
    chat.until("the tool as it runs", |screen| {
        screen.contains("bash until [ -e go ]") && screen.contains("Ctrl-C ends the turn")
    });
    std::fs::write(home.workspace().join("go"), "").expect("a file");
    chat.sees("tool said: gone");
    let screen = chat.waits();
    let line = screen.lines().find(|line| line.starts_with('✓')).expect("a line for the call");
    assert!(line.contains("bash until") && line.ends_with(" s"), "{screen}");
    assert!(screen.contains("1 tool call · "), "{screen}");
    assert!(!screen.contains("Ctrl-C ends the turn"), "the redrawn status is gone: {screen}");
}

#[test]
fn ctrl_c_ends_the_turn_with_its_tools_and_the_next_one_is_answered() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    chat.say(r#"TOOL:bash {"cmd": "echo $$ > pid; sleep 1000"}"#);
    let file = home.workspace().join("pid");
    chat.until("the tool running", |_| std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')));
    chat.press(["C-c"]).sees("the turn was ended");
    chat.waits();
    let pid = std::fs::read_to_string(&file).expect("the tool's own number");
    let process = std::path::Path::new("/proc").join(pid.trim());
    chat.until("the tool gone", |_| !process.exists());
    chat.say("ECHO:still here").sees("\nstill here");
    chat.waits();
    chat.press(["C-c"]).sees("Ctrl-D or `,quit` leaves");
    chat.press(["C-d"]).ends();
}

#[test]
fn a_failed_turn_is_reported_once_and_the_chat_continues() {
    let home = trusting();
    let chat = chat(&home, 100, &[]);
    chat.say("ERR500").sees("internal error");
    chat.waits();
    let screen = chat.screen();
    assert_eq!(screen.matches("internal error").count(), 1, "{screen}");
    chat.say("ECHO:on we go").sees("\non we go");
}

#[test]
fn colors_are_enabled_unless_they_are_disabled() {
    for (no_color, has_colors) in [("", true), ("1", false)] {
        let home = trusting();
        let terminal = home.bub(["chat"]).env("NO_COLOR", no_color).terminal(80, 30);
        terminal.waits();
        terminal.say("ECHO:**bold** and `code`").sees("bold and code");
        terminal.waits();
        let painted = terminal.painted();
        assert_eq!(painted.contains("\u{1b}["), has_colors, "{painted:?}");
    }
}

#[test]
fn control_sequences_of_a_model_never_reach_the_terminal() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    let server = bub_tests::Server::new([bub_tests::Answer::text("\u{1b}]0;owned\u{7}\u{1b}[2Jhello \u{1b}[31mred")]);
    drop(chat);
    let terminal = home.bub(["chat"]).model(&server).terminal(80, 30);
    terminal.waits();
    terminal.say("hi").sees("hello");
    let screen = terminal.waits();
    assert!(screen.contains("\\u{1b}[2Jhello \\u{1b}[31mred"), "{screen}");
    assert!(screen.contains("model openai:fake-model"), "nothing was wiped away: {screen}");
}

#[test]
fn a_closed_terminal_ends_the_chat_and_the_turn_stays_on_the_tape() {
    for is_busy in [false, true] {
        let home = trusting();
        let terminal = chat(&home, 80, &[]);
        let number = terminal.process();
        if is_busy {
            terminal.say(r#"TOOL:bash {"cmd": "touch began; sleep 1000"}"#);
            terminal.until("the tool running", |_| home.workspace().join("began").exists());
        }
        drop(terminal);
        let process = std::path::Path::new("/proc").join(number.to_string());
        let began = std::time::Instant::now();
        while process.exists() {
            assert!(began.elapsed() < std::time::Duration::from_secs(30), "it runs without anybody: {is_busy}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        if is_busy {
            let entries = bub_tests::tape::read(&home.tape_file("cli_session"));
            assert_eq!(entries.last().expect("entries")["payload"]["kind"], "cancelled", "{entries:?}");
        }
    }
}
