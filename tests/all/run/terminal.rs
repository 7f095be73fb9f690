//! `run` where a person looks on: in a terminal.

use super::{plain, trusting, untrusted};
use bub_tests::{Answer, Server};
use std::fs;

const WRITE: &str = "TOOL:fs.edit {\"path\": \"notes.txt\", \"old\": \"two\", \"new\": \"2\"}";
const CHOICES: &str = "y once · a always exactly this call in this session · n no";

fn notes(home: &bub_tests::Home) -> String {
    fs::read_to_string(home.workspace().join("notes.txt")).expect("the file")
}

#[test]
fn the_workspace_prompt_appears_once_and_then_each_call_with_its_difference() {
    let home = untrusted();
    let server = || {
        Server::new([
            Answer::tool_call("fs_read", "{\"path\": \"notes.txt\"}"),
            Answer::tool_call("fs_edit", "{\"path\": \"notes.txt\", \"old\": \"two\", \"new\": \"2\"}"),
            Answer::text("that was it"),
        ])
    };
    let model = server();
    let run = plain(&home, &["go on"]).model(&model).terminal(100, 30);
    run.sees("Trust this workspace? [y/N]");
    run.answer("n").sees("It is not trusted");
    let screen = run.sees(CHOICES);
    assert!(screen.contains("Edit `notes.txt`?\n  - two\n  + 2\n"), "{screen}");
    assert!(screen.contains("Asked because what `fs.read` read of this untrusted workspace"), "{screen}");
    assert!(!screen.contains("taint"), "{screen}");
    let screen = {
        run.answer("y").sees("that was it");
        run.ends()
    };
    assert!(!screen.contains("[cli:local]") && screen.contains("✓ fs.read notes.txt"), "{screen}");
    assert_eq!(notes(&home), "one\n2\nthree\n");

    // The workspace is not asked about again.
    fs::write(home.workspace().join("notes.txt"), "one\ntwo\nthree\n").expect("a file");
    let model = server();
    let run = plain(&home, &["go on"]).model(&model).terminal(100, 30);
    let screen = run.sees(CHOICES);
    assert!(!screen.contains("Trust this workspace?"), "{screen}");
    run.answer("n").sees("that was it");
    run.ends();
    assert_eq!(notes(&home), "one\ntwo\nthree\n");
}

#[test]
fn a_key_that_was_typed_ahead_and_a_paste_are_no_answers() {
    let home = untrusted();
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
    let run = plain(&home, &[WRITE]).terminal(100, 30);
    run.sees("Trust this workspace? [y/N]");
    run.answer("n").sees(CHOICES);
    run.after_delay().paste("y").press(["Enter"]).sees("not taken as an answer");
    assert_eq!(notes(&home), "one\ntwo\nthree\n");
    run.answer("n").ends();
    assert_eq!(notes(&home), "one\ntwo\nthree\n");
}

#[test]
fn a_file_that_is_written_is_shown_by_its_difference_to_the_one_that_is_there() {
    let home = untrusted();
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
    let script = "TOOL:fs.write {\"path\": \"notes.txt\", \"content\": \"one\\ntwo\\nthree\\nfour\\n\"}";
    let run = plain(&home, &[script]).terminal(100, 30);
    run.sees("Trust this workspace? [y/N]");
    run.answer("n");
    let screen = run.sees(CHOICES);
    assert!(screen.contains("Write `notes.txt`?\n    two\n    three\n  + four\n"), "{screen}");
    run.answer("y").ends();
    assert_eq!(notes(&home), "one\ntwo\nthree\nfour\n");
}

#[test]
fn arguments_that_a_model_writes_do_not_shape_the_question() {
    let home = untrusted();
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
    let command = "true\\u001b[2J\\u001b]0;x\\u0007\\u202e\\nAsked because nothing: say y`";
    let run = plain(&home, &[&format!("TOOL:bash {{\"cmd\": \"{command}\"}}")]).terminal(100, 40);
    run.sees("Trust this workspace? [y/N]");
    run.answer("n");
    let screen = run.sees(CHOICES);
    assert!(screen.contains("Run this command?\n  true\\u{1b}[2J"), "{screen}");
    // The command's output is indented, so that it cannot look like the program's.
    assert!(screen.contains("\n  Asked because nothing") && !screen.contains("\nAsked because nothing"), "{screen}");
    run.answer("n").ends();
}

#[test]
fn the_answer_is_streamed_and_retries_are_shown() {
    let home = trusting();
    let busy = Answer::Whole(429, "application/json", "{\"error\": {\"message\": \"slow down\"}}".to_owned());
    let server = Server::new([busy, Answer::text("and then it answers")]);
    let run = plain(&home, &["hi"]).model(&server).terminal(100, 30);
    let screen = {
        run.sees("and then it answers");
        run.ends()
    };
    assert!(screen.contains("429: slow down") && screen.contains("retrying in"), "{screen}");
}

#[test]
fn ctrl_c_ends_the_turn_and_restores_the_terminal() {
    let home = trusting();
    let run = plain(&home, &["TOOL:bash {\"cmd\": \"touch begun; sleep 1000\"}"]).terminal(100, 30);
    let begun = home.workspace().join("begun");
    run.until("the tool running", |_| begun.exists());
    run.press(["C-c"]).sees("the turn was ended; its entries so far are on the tape");
}

#[test]
fn with_a_piped_message_the_answer_is_streamed_and_tools_are_reported() {
    let home = trusting();
    let server = Server::new([Answer::tool_call("bash", "{\"cmd\": \"true\"}"), Answer::text("the \u{1b}[2Janswer")]);
    let run = plain(&home, &["review"]).model(&server).under("printf 'a text' > in; exec < in").terminal(100, 30);
    let screen = {
        run.sees("answer");
        run.ends()
    };
    assert!(screen.contains("✓ bash true · "), "{screen}");
    assert_eq!(screen.matches("the \\u{1b}[2Janswer").count(), 1, "{screen}");
}

#[test]
fn a_long_silence_of_the_model_is_reported() {
    let home = trusting();
    let server = Server::new([Answer::Silence]);
    let run = plain(&home, &["hi"]).model(&server).terminal(100, 30);
    run.sees("the model is silent");
    run.press(["C-c"]).sees("the turn was ended");
}
