//! Going on where the last chat ended.

use super::{chat, trusting};

#[test]
fn the_last_chat_is_shown_and_gone_on_with() {
    let home = trusting();
    let first = chat(&home, 80, &["--session-id", "cli:garden"]);
    first.say("ECHO:the roses").sees("\nthe roses");
    first.waits();
    first.say(",quit").ends();

    let resumed = chat(&home, 80, &["--resume"]);
    let screen = resumed.screen();
    assert!(screen.contains("session cli:garden"), "{screen}");
    assert!(screen.contains("ECHO:the roses") && screen.contains("\nthe roses\n"), "{screen}");
    resumed.say(",tape.info").sees("entries: ");
    resumed.waits();
    resumed.say(",quit").ends();
    // Without the word it is the session that it always is, as in Bub.
    chat(&home, 80, &[]).sees("session cli_session");
}

#[test]
fn where_there_was_no_chat_one_begins() {
    let home = trusting();
    chat(&home, 80, &["--resume"]).sees("session cli_session");
}

#[test]
fn the_session_of_run_is_resumed_and_run_continues_that_of_the_chat() {
    let home = trusting();
    home.run(["ECHO:of run", "--session-id", "cli:roses"]).finish().says("[cli:local]\nof run\n");
    // Another sender's session is not the terminal's.
    home.run(["ECHO:of a stranger", "--channel", "telegram", "--chat-id", "7"]).finish();
    let chat = chat(&home, 80, &["--resume"]);
    chat.sees("session cli:roses");
    chat.say(",quit").ends();
    let other = super::chat(&home, 80, &["--session-id", "cli:tulips"]);
    other.say("ECHO:of chat").sees("\nof chat");
    other.waits();
    other.say(",quit").ends();
    home.run(["-c", "ECHO:and of run"]).finish().says("[cli:local]\nand of run\n");
    let tape = format!("{:?}", bub_tests::tape::read(&home.tape_file("cli:tulips")));
    assert!(tape.contains("and of run"), "{tape}");
}

#[test]
fn where_no_session_was_held_nothing_is_continued() {
    let home = trusting();
    home.run(["-c", "ECHO:hi"]).finish().refuses(&["no session was held in", "leave `-c` out"]);
}
