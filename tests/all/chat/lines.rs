//! The line editor.

use super::{chat, trusting};

#[test]
fn tab_completes_commands_and_their_arguments() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    chat.write(",tape.inf").press(["Tab"]).sees(",tape.info");
    chat.press(["C-u"]).waits();
    chat.write(",tape.").press(["Tab"]);
    for name in ["tape.anchors", "tape.handoff", "tape.info", "tape.reset", "tape.search"] {
        chat.sees(name);
    }
    chat.press(["C-c"]).sees("Ctrl-D or `,quit` leaves");
    chat.write(",fs.read pa").press(["Tab"]).sees(",fs.read path=");
    chat.press(["C-u"]);
    chat.write(",thin").press(["Tab", "Enter"]).sees("the model's reasoning is shown");
}

#[test]
fn a_message_may_have_more_than_one_line() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    chat.say("ECHO:first\\");
    chat.write("second").press(["M-Enter"]);
    chat.say("third").waits();
    let screen = chat.screen();
    let answered = screen.lines().rev().take(6).collect::<Vec<_>>().join("\n");
    for word in ["first", "second", "third"] {
        assert!(answered.contains(word), "{screen}");
    }
}

#[test]
fn the_arrow_key_recalls_messages_also_in_the_next_chat() {
    let home = trusting();
    let first = chat(&home, 80, &[]);
    first.say("ECHO:remember me").sees("\nremember me");
    first.waits();
    first.say(",quit").ends();
    let second = chat(&home, 80, &[]);
    // Leaving is a line, too.
    second.press(["Up", "Up"]).sees("› ECHO:remember me");
    use std::os::unix::fs::PermissionsExt;
    for found in std::fs::read_dir(home.bub_home().join("history")).expect("the history's directory") {
        let about = found.expect("a file").metadata().expect("its metadata");
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn reasoning_is_shown_on_request() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    let without = chat.say("REASON").sees("Reasoned answer.");
    assert!(!without.contains("Let me think."), "{without}");
    chat.waits();
    chat.say(",thinking").sees("reasoning is shown");
    chat.waits();
    chat.say("REASON").sees("Let me think.");
}

#[test]
fn ctrl_j_begins_a_new_line_and_loses_nothing_before_and_while_a_turn_runs() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    chat.write("ECHO:first").press(["C-j"]).write("second");
    chat.until("both lines in the editor", |screen| screen.ends_with("› ECHO:first\n  second"));
    chat.press(["Enter"]).until("both lines of the answer", |screen| screen.contains("\nfirst\nsecond\n"));
    chat.waits();
    chat.say(r#"TOOL:bash {"cmd": "until [ -e go ]; do sleep 0.05; done"}"#).sees("bash until");
    chat.write("ECHO:third").press(["C-j"]).write("fourth").press(["Enter"]).sees("added at the next step");
    std::fs::write(home.workspace().join("go"), "").expect("a file");
    chat.until("both lines of that answer", |screen| screen.contains("\nthird\nfourth\n"));
}

#[test]
fn a_terminal_that_is_closed_takes_no_line_of_the_history_with_it() {
    let home = trusting();
    let first = chat(&home, 80, &[]);
    first.say("ECHO:the first").sees("\nthe first");
    first.waits();
    first.say(r#"TOOL:bash {"cmd": "touch began; sleep 1000"}"#);
    first.until("the tool running", |_| home.workspace().join("began").exists());
    first.say("ECHO:said meanwhile").sees("added at the next step");
    let process = std::path::Path::new("/proc").join(first.process().to_string());
    drop(first);
    let began = std::time::Instant::now();
    while process.exists() {
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "it runs without anybody");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = chat(&home, 80, &[]);
    second.press(["Up"]).sees("› ECHO:said meanwhile");
    second.press(["Up"]).sees("› TOOL:bash");
    second.press(["Up"]).sees("› ECHO:the first");
}
