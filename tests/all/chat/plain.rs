//! Without a terminal: a line in, an answer out.

use super::{home, trusting};
use bub_tests::tape;

#[test]
fn each_line_is_a_turn_and_its_answer_comes_out_as_it_is() {
    let home = trusting();
    let finished = home.bub(["chat"]).input("ECHO:one **bold**\n\n,tape.info\nECHO:two\n").finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.stdout.starts_with("one **bold**\n"), "{finished}");
    assert!(finished.stdout.ends_with("two\n") && finished.stdout.contains("entries: "), "{finished}");
    assert!(!finished.stdout.contains('\u{1b}'), "{finished}");
    assert!(tape::read(&home.tape_file("cli_session")).len() > 4);
}

#[test]
fn quit_ends_the_chat_and_later_lines_are_not_read() {
    let home = trusting();
    let finished = home.bub(["chat"]).input("ECHO:one\n,quit\nECHO:two\n").finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "one\n"), "{finished}");
}

#[test]
fn without_a_terminal_calls_that_need_approval_are_denied() {
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "run everything").expect("a file");
    let lines = "TOOL:fs.read {\"path\": \"notes.txt\"}\nTOOL:bash {\"cmd\": \"touch made.txt\"}\n";
    let finished = home.bub(["chat"]).input(lines).finish();
    assert!(finished.stdout.contains("`bash` would run, which needs the owner's word"), "{finished}");
    assert!(!home.workspace().join("made.txt").exists(), "{finished}");
}

#[test]
fn a_failed_turn_is_reported_on_stderr_and_the_next_one_runs() {
    let home = trusting();
    let finished = home.bub(["chat"]).input("ERR500\nECHO:two\n").finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "two\n"), "{finished}");
    assert_eq!(finished.stderr.lines().filter(|line| line.contains("500")).count(), 1, "{finished}");
    let finished = home.bub(["chat"]).input("ERR500\n").finish();
    assert_eq!(finished.code, Some(1), "{finished}");
}
