//! Guests in other languages: with the SDKs (`examples`, `projects`), and with the generated bindings alone (here).

mod examples;
mod projects;
mod toolchain;

use crate::home;
use bub_tests::{Answer, Home, Server, tape};
use std::path::Path;
use std::process::Command;
use toolchain::toolchain;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/languages");

/// Makes a component, and says where it is.
#[track_caller]
fn component(home: &Home, program: &Path, arguments: &[&str]) -> String {
    let made = home.bub_home().join("made.wasm").to_string_lossy().into_owned();
    let arguments = arguments.iter().map(|argument| if *argument == "MADE" { &*made } else { argument });
    let output =
        Command::new(program).args(arguments).current_dir(SOURCES).env("PYTHONDONTWRITEBYTECODE", "1").output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    made
}

/// The plugin selects the last six messages of eight turns, by entries that stand on the tape.
#[track_caller]
fn selects_the_last_six(home: &Home, language: &str) {
    let server = Server::new((0..8).map(|turn| Answer::text(&format!("answer {turn}"))));
    for turn in 0..8 {
        home.run([&*format!("question {turn}")]).model(&server).finish().says(&format!("[cli:local]\nanswer {turn}\n"));
    }
    let asked = server.requests()[7].messages();
    let told: Vec<&str> = asked[1..].iter().filter_map(|message| message["content"].as_str()).collect();
    let said = |text: &str, what: &str| text == what || text.ends_with(&format!("---\n{what}"));
    let expected = (4..7).flat_map(|turn| [format!("question {turn}"), format!("answer {turn}")]);
    let expected: Vec<String> = expected.chain(["question 7".to_owned()]).collect();
    assert_eq!(told.len(), expected.len(), "{told:?}");
    assert!(told.iter().zip(&expected).all(|(told, expected)| said(told, expected)), "{told:?}");
    let notes = tape::read(&home.tape_file("cli:local"));
    assert!(notes.iter().any(|entry| entry["payload"]["data"]["language"] == language), "it leaves its notes");
}

#[test]
fn a_selector_in_javascript_selects() {
    let Some(program) = toolchain("componentize-qjs") else { return };
    let home = home();
    let arguments = ["--wit", "wit", "--world", "selector", "--js", "last_six.js", "--output", "MADE"];
    let made = component(&home, &program, &[&["--sync", "--stub-wasi"], &arguments[..]].concat());
    home.plugin("javascript", &made);
    selects_the_last_six(&home, "javascript");
}

#[test]
fn a_selector_in_python_selects() {
    let Some(program) = toolchain("componentize-py") else { return };
    let home = home();
    let world = ["-d", "wit", "-w", "bub:languages/selector", "componentize", "--stub-wasi"];
    let made = component(&home, &program, &[&world, &["last_six", "-o", "MADE"][..]].concat());
    // An interpreter of 18 MB takes a compiler that is itself not optimized longer than a stranger's file may take.
    home.configure("[plugins.python.limits]\ncompile_seconds = 600");
    home.plugin("python", &made);
    selects_the_last_six(&home, "python");
}

/// With WASI, unlike the selector above: without it a guest has nowhere to write to.
#[test]
fn the_traceback_of_a_plugin_in_python_reaches_its_author() {
    let Some(program) = toolchain("componentize-py") else { return };
    let home = home();
    let world = ["-d", "wit", "-w", "bub:languages/selector", "componentize"];
    let made = component(&home, &program, &[&world, &["raises", "-o", "MADE"][..]].concat());
    home.configure("[plugins.python.limits]\ncompile_seconds = 600");
    home.plugin("python", &made);
    let server = Server::new([Answer::text("an answer")]);
    let finished = home.run(["a question"]).model(&server).finish().says("[cli:local]\nan answer\n");
    let finished = finished.mentions("hook `selector` of plugin `python`: ").mentions("; it wrote: ");
    finished.mentions("Traceback (most recent call last)").mentions("ValueError: no entry fits");

    let checked = home.bub(["plugin", "check", "python"]).finish();
    assert_eq!(checked.code, Some(1), "{checked}");
    for line in ["  it wrote:\n", "  | Traceback (most recent call last):\n", "  | ValueError: no entry fits\n"] {
        assert!(checked.stdout.contains(line), "{line}\n{checked}");
    }
    let kept = checked.stdout.split_once("--repro ").and_then(|(_, path)| path.lines().next()).expect("it is kept");
    let call = std::fs::read_to_string(Path::new(kept).join("call.json")).expect("it is there");
    let call: serde_json::Value = serde_json::from_str(&call).expect("it is JSON");
    let output = call["output"].as_str().unwrap_or_default();
    assert!(
        output.contains("looking for an entry that fits\n") && output.contains("\nValueError: no entry fits\n"),
        "{call:#}"
    );
}
