//! `bub-wasm NAME ARG...`: commands that plugins bring.

use crate::home;
use crate::plugins::lists_as_failed;
use bub_tests::{Home, programs};
use serde_json::{Value, json};

fn commander() -> Home {
    let home = home().bare();
    home.plugin("commander", programs::COMMANDER);
    home
}

/// The plugin `commander` lists these instead of what it can do.
fn listing(names: &[&str]) -> Home {
    let home = commander();
    home.configure(&format!("[plugins.commander.config]\nnames = {names:?}"));
    home
}

/// `commander`, which answers with that text.
fn saying(text: &str) -> Home {
    let home = commander();
    home.configure(&format!("[plugins.commander.config]\ntext = {}", json!(text)));
    home
}

#[test]
pub(crate) fn commander_greets_the_given_name() {
    // It holds no grant at all.
    let home = commander().strict();
    home.bub(["greet", "a b", "--loud", "-w", "--help"]).finish().says("hello a b|--loud|-w|--help\n");
    home.bub(["greet"]).finish().says("hello \n");
}

#[test]
fn options_of_the_program_come_before_the_name() {
    let home = commander();
    home.configure("[plugins.commander]\ngrants = [\"fs:<workspace>:ro\"]");
    let beside = home.workspace().join("beside");
    std::fs::create_dir(&beside).expect("the workspace can be written");
    std::fs::write(beside.join("notes.txt"), "from beside").expect("it can be written");
    home.bub(["-w", "beside", "look"]).finish().says("from beside\n");
}

#[test]
fn a_command_holds_the_grants_of_its_plugin_and_no_more() {
    let home = commander();
    std::fs::write(home.workspace().join("notes.txt"), "milk").expect("the workspace can be written");
    assert_eq!(home.bub(["look"]).finish().code, Some(1));
    home.configure("[plugins.commander]\ngrants = [\"fs:<workspace>:ro\"]");
    home.bub(["look"]).finish().says("milk\n");
}

#[test]
fn a_plugin_can_check_its_grants() {
    let home = commander().strict();
    home.configure("[plugins.commander]\nfollow = true\ngrants = [\"fs:<workspace>:ro\", \"http:*.example.com\"]");
    let command = |grant: &str| {
        format!(
            "ErrorKind::Denied: plugin `commander` does not hold the grant `{grant}`; to give it: bub-wasm plugin grant commander"
        )
    };
    home.bub(["may", "fs:<workspace>:ro", "fs:<workspace>:rw", "http:*.example.com", "process", "proces"]).finish().says(&format!(
        "yes\n{} 'fs:<workspace>:rw'\nyes\n{} process\nErrorKind::InvalidInput: what was asked about is `proces`, which is not a grant; did you mean `process`\n",
        command("fs:<workspace>:rw"),
        command("process"),
    ));
}

#[test]
fn the_output_of_a_command_is_printed_with_control_characters_escaped() {
    for (text, printed) in [
        ("", ""),
        ("a\n\tb\n", "a\n\tb\n"),
        ("a\r\nb", "a\nb\n"),
        ("\u{1b}[31mred\u{7}\r\u{9b}2J\u{202e}x", "\\u{1b}[31mred\\u{7}\\u{d}\\u{9b}2J\\u{202e}x\n"),
        ("grün 中文 👩\u{200d}🚀", "grün 中文 👩\u{200d}🚀\n"),
    ] {
        saying(text).bub(["say"]).finish().says(printed);
    }
}

#[test]
fn an_error_of_a_command_is_one_line_on_stderr() {
    let finished = commander().bub(["fail"]).finish();
    finished.refuses(&[]).fails("error: hook `run-command` of plugin `commander`: no such [2Jluck");
    let finished = commander().bub(["fall"]).finish();
    finished.refuses(&["it fell"]).fails("error: hook `run-command` of plugin `commander`: panicked: ");
}

#[test]
fn an_unknown_command_is_a_usage_error_with_a_suggestion() {
    let home = commander();
    for (written, meant) in [("gret", "greet"), ("doctr", "doctor"), ("polugin", "plugin"), ("fial", "fail")] {
        let finished = home
            .bub([written, "x"])
            .finish()
            .refuses(&[&format!("there is no command `{written}`; did you mean `{meant}`")]);
        assert_eq!(finished.code, Some(2), "{finished}");
    }
    let finished = home.bub(["what is\u{1b}[2J this"]).finish();
    let finished = finished.refuses(&["there is no command `what is\\u{1b}[2J this`; `bub-wasm --help` and"]);
    assert_eq!(finished.code, Some(2), "{finished}");
}

#[test]
fn a_command_that_takes_too_long_has_the_turns_deadline_and_not_a_hooks() {
    let home = commander();
    home.configure("[plugins.commander.limits]\ndeadline_ms = 50\nturn_deadline_ms = 400");
    home.bub(["wait"]).finish().fails("hook `run-command` of plugin `commander`: took longer than 400 ms");
}

#[test]
fn ctrl_c_ends_a_command() {
    let home = commander();
    let started = home.bub(["wait"]).watched().start();
    started.wait_for("it waits");
    started.interrupt();
    let finished = started.finish();
    assert!(finished.code == Some(1) && finished.stdout.is_empty(), "{finished}");
    finished.mentions("error: cancelled");
}

#[test]
fn no_plugin_takes_the_name_of_a_command_of_the_program() {
    let help = home().bub(["--help"]).finish();
    let commands = help.stdout.split_once("Commands:\n").and_then(|(_, rest)| rest.split_once("\n\n"));
    let names: Vec<&str> =
        commands.expect("help lists commands").0.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"run") && names.contains(&"help"), "{names:?}");
    for name in names {
        is_reserved(name);
    }
}

#[track_caller]
fn is_reserved(name: &str) {
    let says = format!("its command `{name}` has a reserved name: bub-wasm keeps it for a command of its own");
    lists_as_failed(&listing(&[name]), "commander", &says);
}

#[test]
fn no_plugin_takes_a_name_that_is_reserved_for_a_later_command() {
    for name in
        ["sessions", "mcp", "acp", "replay", "blame", "audit", "why", "store", "open", "undo", "schedule", "init"]
    {
        is_reserved(name);
    }
    // Names that only begin like a builtin one are free.
    let finished = listing(&["replays"]).bub(["plugin", "list"]).finish();
    assert!(!finished.stdout.contains("did not load"), "{finished}");
}

#[test]
fn names_that_no_command_may_have_keep_the_plugin_out() {
    let long = "x".repeat(65);
    for name in ["", "Greet", "1up", "-v", "a b", "a\nb", "grüß", "../x", &long] {
        lists_as_failed(&listing(&[name]), "commander", "has no name of at most 64 small letters");
    }
    lists_as_failed(&listing(&["a", "b", "a"]), "commander", "it has two commands `a`");
    let many: Vec<String> = (0..65).map(|number| format!("c{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    lists_as_failed(&listing(&many), "commander", "it has 65 commands; at most 64 are taken");
    listing(&many[..64]).bub(["c63"]).finish().fails("asked for `c63`");
}

#[test]
fn a_duplicate_command_name_rejects_its_plugin_with_a_warning() {
    let home = commander();
    home.plugin("usurper", programs::COMMANDER);
    let finished = home.bub(["greet", "me"]).finish().says("hello me\n");
    finished.mentions("plugin `usurper` did not load: its command `greet` is there already, in plugin `commander`");
}

#[test]
fn a_plugin_lists_its_commands_once() {
    let home = commander();
    for asked in [1, 0] {
        let run = home.bub(["greet", "me"]).env("BUB_CACHE", home.bub_home().join("own cache"));
        let finished = run.watched().finish().says("hello me\n");
        assert_eq!(finished.stderr.matches("asked for its commands").count(), asked, "{finished}");
    }
    // They may depend on its configuration.
    home.configure("[plugins.commander.config]\nnames = [\"greet\"]");
    let run = home.bub(["greet", "me"]).env("BUB_CACHE", home.bub_home().join("own cache"));
    let finished = run.watched().finish().says("hello me\n");
    assert_eq!(finished.stderr.matches("asked for its commands").count(), 1, "{finished}");
}

#[test]
fn commands_are_listed_and_inspected() {
    let home = listing(&["greet", "tidy-up"]);
    let listed = home.bub(["plugin", "list"]).finish();
    assert!(listed.stdout.contains("commands: greet tidy-up\n"), "{listed}");
    let inspected = home.bub(["plugin", "inspect", "commander"]).finish();
    assert!(inspected.stdout.contains("command greet: Does [31mgreet.\ncommand tidy-up: Does"), "{inspected}");
    let inspected = home.bub(["plugin", "inspect", "commander", "--json"]).finish();
    let plugin: Value = serde_json::from_str(&inspected.stdout).expect("it is JSON");
    assert_eq!(plugin["commands"][1], json!({ "name": "tidy-up", "about": "Does [31mtidy-up." }));
    let help = home.bub(["--help"]).finish();
    assert!(help.stdout.contains("bub-wasm plugin list"), "{help}");
}
