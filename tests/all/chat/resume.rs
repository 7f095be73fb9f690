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
