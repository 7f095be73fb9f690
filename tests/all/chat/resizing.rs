//! Another size of the terminal while something is drawn.

use super::trusting;
use bub_tests::{Answer, Server};

#[test]
fn resizing_while_it_streams_leaves_no_stray_line() {
    let home = trusting();
    let said = "one two three four five six seven eight nine ten ".repeat(6);
    let server = Server::new([Answer::stalled(&said)]);
    let chat = home.bub(["chat"]).model(&server).terminal(110, 30);
    chat.waits();
    chat.say("hi").sees("nine ten");
    chat.write("a draft that is longer than the narrowest of the sizes").sees("› a draft");
    for (columns, rows) in [(50, 30), (90, 24), (34, 20), (34, 12), (120, 30)] {
        chat.resize(columns, rows);
        let most = usize::from(columns);
        // Lines that the terminal has scrolled out of its screen meanwhile cannot be redrawn.
        chat.until("all of it once, and fitting", |_| {
            let screen = chat.visible();
            // The text fills lines of the new width.
            let said = screen.lines().filter(|line| line.contains("seven"));
            let longest = said.map(|line| line.chars().count()).max().unwrap_or(0);
            let words = screen.split_whitespace().filter(|word| *word == "seven").count();
            (most.saturating_sub(12)..most).contains(&longest)
                && words <= 6
                && screen.matches("Ctrl-C ends").count() == 1
                && screen.matches('▏').count() == 1
        });
    }
    chat.press(["C-u", "C-c"]).sees("the turn was ended");
    chat.waits();
    let screen = chat.visible();
    let words = screen.split_whitespace().filter(|word| *word == "seven").count();
    assert_eq!(words, 6, "said once: {screen}");
    assert!(!screen.contains("Ctrl-C ends") && !screen.contains('▏'), "{screen}");
}

#[test]
fn pictures_of_several_characters_and_persian_are_printed_as_they_are() {
    let home = trusting();
    let said = "family 👨\u{200d}👩\u{200d}👧 and می\u{200c}خواهم, not pay\u{200d}pal";
    let server = Server::new([Answer::text(said)]);
    let chat = home.bub(["chat"]).model(&server).terminal(80, 30);
    chat.waits();
    let screen = chat.say("hi").sees("family");
    // `tmux` chooses how to draw a joiner; the screen has no escape sequence of ours.
    chat.waits();
    let screen = [screen, chat.screen()].concat();
    assert!(!screen.contains("\\u{200c}") && screen.contains("pay\\u{200d}pal"), "{screen}");
    assert!(screen.contains('👨') && !screen.contains("👨\\u"), "{screen}");
}
