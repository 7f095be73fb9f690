//! The first start, which compiles: its progress on a terminal, and no output elsewhere.

use crate::home;
use bub_tests::{Answer, Home, Run, Server};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Beginning of the line.
const LINE: &str = "compiling plugin `";

/// With no compiled code to begin with.
fn cold<'home>(home: &'home Home, arguments: &[&str]) -> Run<'home> {
    home.bub(arguments.iter().copied()).env("BUB_CACHE", home.bub_home().join("empty cache"))
}

/// Starts it in a terminal; the line is seen, and is gone once `then` is seen.
#[track_caller]
fn shows(home: &Home, arguments: &[&str], then: &str) {
    let terminal = cold(home, arguments).terminal(100, 30);
    terminal.sees(LINE);
    let screen = terminal.sees(then);
    assert!(!screen.contains("compiling"), "the line is still there\n{screen}");
}

#[test]
fn run_shows_a_progress_line_of_compiling_and_removes_it() {
    let home = home();
    shows(&home, &["run", "hello"], "[cli:local]");
}

#[test]
fn plugin_list_compiles_all_plugins_and_takes_the_line_away() {
    let home = home();
    shows(&home, &["plugin", "list"], "telegram        embedded");
    let compiled = std::fs::read_dir(home.bub_home().join("empty cache")).expect("it is there").flatten();
    let compiled = compiled.filter(|file| file.path().extension().is_some_and(|end| end == "cwasm")).count();
    assert_eq!(compiled, 10);
}

#[test]
fn chat_is_ready_before_compiling_and_its_first_turn_shows_the_progress() {
    let home = home();
    home.bub(["trust"]).finish();
    let terminal = cold(&home, &["chat"]).terminal(100, 30);
    terminal.sees("session cli_session");
    terminal.say("hello");
    terminal.sees(LINE);
    terminal.sees("which is no language model");
}

#[test]
fn log_lines_are_printed_above_the_progress_line() {
    let home = home();
    std::fs::write(home.bub_home().join("plugins/broken.wasm"), "no component").unwrap();
    let terminal = cold(&home, &["run", "hello"]).env("RUST_LOG", "debug").terminal(120, 60);
    terminal.sees(LINE);
    let screen = terminal.sees("[cli:local]");
    assert!(screen.contains("plugin `broken` did not load"), "{screen}");
    assert!(!screen.contains("compiling plugin"), "{screen}");
}

#[test]
fn nothing_is_shown_where_stderr_is_no_terminal() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    let finished = cold(&home, &["run", "hi"]).env("TERM", "xterm").model(&server).finish();
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished}");
}

/// Each lookup of a name that the one pass does not cover would read the whole tape once more.
#[test]
fn the_first_turn_on_a_long_tape_without_an_index_reads_it_once() {
    let home = home();
    let server = Server::new([Answer::text("hello"), Answer::text("again")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let tape = home.tape_file("cli:local");
    let mut text = std::fs::read_to_string(&tape).expect("there is a tape");
    let written = text.lines().count();
    for id in written + 1..written + 20_000 {
        let said = format!(r#"{{"role": "user", "content": "{}"}}"#, "a word or two ".repeat(8));
        writeln!(text, r#"{{"id": {id}, "kind": "message", "payload": {said}, "meta": {{}}}}"#).expect("a string");
    }
    // Another program has written it: the index of the old file does not apply to this one.
    std::fs::remove_dir_all(home.tapes_dir()).expect("it is there");
    std::fs::create_dir(home.tapes_dir()).expect("its parent is there");
    std::fs::write(&tape, text).expect("it can be written");
    let finished = home.run(["go on"]).model(&server).env("RUST_LOG", "debug").finish().says("[cli:local]\nagain\n");
    let reads = finished.stderr.lines().filter(|line| line.contains("reads the whole tape")).count();
    assert_eq!(reads, 1, "{finished}");
}

/// The suffix of code that was compiled quickly.
const QUICK: &str = "-quick.cwasm";

#[test]
fn run_leaves_a_process_that_recompiles_quickly_compiled_code_for_speed() {
    let home = home();
    let run = || cold(&home, &["run", "hello"]).env("BUB_BACKGROUND_COMPILE", "true").finish();
    let files = || {
        let files = std::fs::read_dir(home.bub_home().join("empty cache")).expect("it is there").flatten();
        files.filter_map(|file| file.file_name().into_string().ok()).filter(|name| name.ends_with(".cwasm"))
    };
    assert_eq!(run().code, Some(0));
    let compiled = files().count();
    // Long enough for a debug build on a busy machine.
    let ends = Instant::now() + Duration::from_secs(600);
    while files().any(|name| name.ends_with(QUICK)) {
        assert!(Instant::now() < ends, "still compiled quickly: {:?}", files().collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(files().count(), compiled, "each file is replaced");
    let finished = run();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!files().any(|name| name.ends_with(QUICK)), "the replaced code is used");
}
