//! The first start, which compiles: what is seen of it on a terminal, and that nothing is seen elsewhere.

use crate::home;
use bub_tests::{Answer, Home, Run, Server};

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
fn run_shows_what_it_compiles_and_takes_the_line_away() {
    let home = home();
    shows(&home, &["run", "hello"], "[cli:local]");
}

#[test]
fn chat_shows_what_it_compiles_and_takes_the_line_away() {
    let home = home();
    home.bub(["trust"]).finish();
    shows(&home, &["chat"], "session cli_session");
}

#[test]
fn serve_shows_what_it_compiles_and_takes_the_line_away() {
    let home = home();
    shows(&home, &["serve", "--listen", "127.0.0.1:0"], "serving at http://");
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
