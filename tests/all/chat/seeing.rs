//! The display of a turn: reasoning, differences, and the output of commands.

use super::{chat, trusting};
use bub_tests::{Answer, Server};
use serde_json::json;

#[test]
fn long_reasoning_shows_a_hint_and_is_shown_on_request() {
    let home = trusting();
    let server = Server::new([Answer::thinking("First I count the roses.")]);
    let chat = home.bub(["chat"]).model(&server).terminal(80, 30);
    chat.waits();
    let screen = chat.say("hi").sees("it thinks: `,thinking` shows it");
    assert!(!screen.contains("count the roses"), "{screen}");
    chat.say(",thinking").sees("First I count the roses.");
    let screen = chat.sees("the model's reasoning is shown");
    assert!(!screen.contains("it thinks"), "{screen}");
    chat.press(["C-c"]).sees("the turn was ended");
    chat.waits();
}

#[test]
fn an_edit_without_an_approval_shows_its_difference() {
    let home = trusting();
    std::fs::write(home.workspace().join("main.rs"), "fn main() {\n    one();\n    two();\n}\n").expect("a file");
    let edit = json!({
        "path": "main.rs", "old": "fn main() {\n    one();\n    two();\n}", "new": "fn main() {\n    one();\n    three();\n}",
    });
    let write = json!({ "path": "new.txt", "content": "a\u{202e}b\n" });
    let server = Server::new([
        Answer::tool_call("fs_edit", &edit.to_string()),
        Answer::tool_call("fs_write", &write.to_string()),
        Answer::text("done"),
    ]);
    let chat = home.bub(["chat"]).model(&server).terminal(80, 30);
    chat.waits();
    chat.say("edit it").sees("done");
    let screen = chat.waits();
    assert!(screen.contains("    -     two();\n    +     three();\n"), "{screen}");
    assert!(screen.contains("          one();") && !screen.contains("+ fn main"), "only what differs: {screen}");
    assert!(screen.contains("+ a\\u{202e}b"), "{screen}");
}

#[test]
fn search_hits_and_help_are_laid_out_for_people() {
    let home = trusting();
    let chat = chat(&home, 80, &[]);
    chat.say("ECHO:plant the roses").sees("\nplant the roses");
    chat.waits();
    chat.say(",tape.search roses").sees("1 tool call");
    let screen = chat.waits();
    let hits = screen.rsplit_once("› ,tape.search").map_or("", |(_, hits)| hits);
    assert!(hits.contains("user") && hits.contains("assistant") && hits.contains("plant the roses"), "{screen}");
    assert!(!hits.contains("\\n") && !hits.contains("{\"") && !hits.contains("---Date"), "{screen}");
    // The search above made a tool call, too.
    chat.say(",help").sees(",tape.search QUERY");
    let screen = chat.waits();
    let help = screen.rsplit_once("› ,help").map_or("", |(_, help)| help);
    assert!(help.contains(",tape.search QUERY") && !help.contains("..."), "{screen}");
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{screen}");
}
