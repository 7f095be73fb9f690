//! The program ends even if a task blocks the threads that handle signals.

use crate::home;
use bub_tests::{Answer, Serve, Server};
use serde_json::json;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Where every turn computes for ever: behind the beginning of its journal.
const HANGS: &str =
    "begin.end~,begin.end#2~,begin.end#3~,begin.end#4~,begin.end#5~,begin.end#6~,begin.end#7~,begin.end#8~";

/// Waits until a turn of that session has begun.
#[track_caller]
fn has_begun(file: &std::path::Path) {
    let begun = Instant::now();
    let journal = file.with_extension("jsonl.turn");
    while fs::metadata(&journal).map_or(0, |found| found.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no turn has begun");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sigterm_is_final_after_the_drain_when_turns_hold_every_thread() {
    let home = home();
    home.configure("[serve]\ndrain_seconds = 1");
    let server = Server::new([Answer::text("never")]);
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&server).env("BUB_FAILPOINT", HANGS);
    let serve = Serve::start(run, &home.bub_home());
    // As many as the runtime has threads, at least.
    let mut open = Vec::new();
    for number in 0..thread::available_parallelism().map_or(8, usize::from).min(8) {
        let session = format!("http:{number}");
        open.push(serve.ask("POST", "/v1/turns").json(&json!({ "content": "hello", "session_id": session })).open());
        has_begun(&home.tape_file(&session));
    }
    serve.program().terminate();
    let ended = serve.gone();
    assert_eq!(ended.code, Some(143), "{ended}");
    assert!(ended.stderr.contains("not ended 11 seconds after the signal"), "{ended}");
}

#[test]
fn a_second_signal_ends_a_turn_that_holds_its_thread() {
    for interrupts in [true, false] {
        let home = home();
        let server = Server::new([Answer::text("never")]);
        let started = home.run(["hello"]).model(&server).env("BUB_FAILPOINT", HANGS).start();
        has_begun(&home.tape_file("cli:local"));
        let signal = || if interrupts { started.interrupt() } else { started.terminate() };
        signal();
        // Two signals of a kind that come at once are one.
        thread::sleep(Duration::from_millis(500));
        signal();
        let ended = started.finish();
        assert_eq!(ended.code, Some(130), "{ended}");
    }
}

#[test]
fn a_second_ctrl_c_ends_a_chat_whose_turn_holds_its_thread() {
    let home = home();
    let server = Server::new([Answer::text("never")]);
    let mut started = home.bub(["chat"]).model(&server).env("BUB_FAILPOINT", HANGS).spoken_to().start();
    started.say("hello");
    has_begun(&home.tape_file("cli_session"));
    started.interrupt();
    thread::sleep(Duration::from_millis(1500));
    started.interrupt();
    let ended = started.finish();
    assert_eq!(ended.code, Some(130), "{ended}");
}
