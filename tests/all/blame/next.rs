//! The next request of a session.

use super::{check, is_by, source_of};
use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::Value;
use std::fs;

fn next(home: &Home, arguments: &[&str]) -> Value {
    let all = ["blame", "--json"].into_iter().chain(arguments.iter().copied());
    let finished = home.bub(all).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let blame: Value = serde_json::from_str(&finished.stdout).expect("it is JSON");
    check(&blame);
    blame
}

#[test]
fn system_prompt_tools_messages_and_settings_name_their_sources() {
    let home = home();
    fs::write(home.workspace().join("AGENTS.md"), "Speak like a pirate.").expect("a file");
    let server = Server::new([Answer::text("Aye, what is it?")]);
    home.run(["the first words"]).model(&server).finish().answers();
    let blame = next(&home, &["--prompt", "and the next ones"]);
    is_by(&blame, "Speak like a pirate.", "builtin", "system-prompt");
    assert_eq!(source_of(&blame, "Speak like a pirate.")["name"], "workspace");
    let said = source_of(&blame, "the first words");
    assert_eq!((&said["kind"], &said["name"]), (&"entry".into(), &"message".into()));
    let answered = source_of(&blame, "Aye, what is it?");
    assert_eq!(answered["kind"], "entry");
    assert!(answered["turn"].as_str().is_some_and(|run| !run.is_empty()), "{answered}");
    let asked = source_of(&blame, "and the next ones");
    assert_eq!((&asked["kind"], &asked["name"]), (&"sender".into(), &"cli".into()));
    let tools = blame["parts"].as_array().expect("parts").iter().filter(|part| part["kind"] == "tool");
    assert!(tools.count() > 5, "{:#}", blame["parts"]);
    is_by(&blame, r#""name":"fs_read"#.trim_start_matches(r#""name":""#), "builtin", "system-prompt");
    let body = blame["body"].as_str().expect("a body");
    let at = body.find(r#""name":"fs_read""#).expect("the tool is offered") + r#""name":""#.len();
    assert_eq!(super::source_at(&blame, at, "fs_read")["plugin"], "workspace");
    assert_eq!(source_of(&blame, "max_tokens")["kind"], "configuration");
}

#[test]
fn the_same_is_printed_for_people_and_by_tape_context() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi there"]).model(&server).finish().answers();
    let by_blame = home.bub(["blame", "--prompt", "next"]).finish();
    assert_eq!(by_blame.code, Some(0), "{by_blame}");
    for said in
        ["message 1: system", "builtin@", "system-prompt (agent)", "entry", "hi there", "tool bash", "bytes by source"]
    {
        assert!(by_blame.stdout.contains(said), "`{said}` in {by_blame}");
    }
    let by_context = home.bub(["tape", "context", "--blame", "--prompt", "next"]).finish();
    // The message that comes next has the time of the preview.
    let timeless = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "0");
    assert_eq!(timeless(&by_blame.stdout), timeless(&by_context.stdout));
}

#[test]
fn plugins_that_make_the_prompt_of_the_message_are_named() {
    let home = home();
    home.scripted("a", programs::SCRIPTED, r#"build-prompt = "ECHO: the prompt of a""#);
    let blame = next(&home, &["--prompt", "what was said"]);
    is_by(&blame, "the prompt of a", "a", "build-prompt");
}

#[test]
fn hostile_names_and_texts_reach_no_terminal() {
    let home = home();
    let hostile = "x\u{1b}[31m\u{7}\u{202e}y";
    let server = Server::new([Answer::text(hostile)]);
    home.run([hostile]).model(&server).finish();
    let finished = home.bub(["blame", "--prompt", hostile]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(!finished.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{finished}");
    next(&home, &["--prompt", hostile]);
}

#[test]
fn turns_that_were_not_recorded_and_files_that_hold_no_trails_are_named() {
    let home = home();
    home.bub(["blame", "turn-\u{1b}x"]).finish().fails("no recording of turn `turn-");
    let missing = home.workspace().join("missing");
    home.bub(["blame", "--file", &missing.to_string_lossy()]).finish().fails("cannot be read");
    let file = home.workspace().join("trails");
    let path = file.to_string_lossy();
    for (text, why) in [
        ("", "holds no trail"),
        ("{}\n", "line 1 of"),
        ("\u{0}\u{1b}\n", "it is no trail"),
        (r#"{"format":9}"#, "its format is 9, and this program reads 1; use a newer one"),
    ] {
        fs::write(&file, text).expect("a file");
        home.bub(["blame", "--file", &path]).finish().fails(why);
    }
}
