//! `provide-model-options`, through the command `,model`.

use crate::home;
use bub_tests::{Finished, Home, programs, tape};
use serde_json::json;

/// The builtin guest, and `a`, `b`, ... with these answers to the hook.
fn offering(answers: &[&str]) -> Home {
    let home = home();
    home.configure("model = \"mine:first\"\nfallback_models = [\"mine:second\", \"mine:third\"]");
    for (name, answer) in ["a", "b", "c"].iter().zip(answers) {
        home.scripted(name, programs::SCRIPTED, &format!("provide-model-options = {answer}"));
    }
    home
}

const HOW: &str = "`,model provider:model` asks another one in this session.";

/// `,model` shows these lines.
#[track_caller]
fn lists(home: &Home, lines: &[&str]) -> Finished {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    home.run([",model"]).watched().finish().says(&format!("[cli:local]\n{lines}{HOW}\n"))
}

#[test]
fn the_configured_models_are_listed_and_the_current_one_is_marked() {
    lists(&offering(&[]), &["* mine:first", "  mine:second", "  mine:third"]);
    lists(&home(), &["* offline:demo"]);
}

#[test]
fn the_model_chosen_by_the_session_is_marked() {
    let home = offering(&[]);
    home.run([",model mine:third"]).finish();
    lists(&home, &["  mine:first", "  mine:second", "* mine:third"]);
    home.run([",model openai:elsewhere"]).finish();
    lists(&home, &["* openai:elsewhere", "  mine:first", "  mine:second", "  mine:third"]);
    let other = home.run([",model", "--session-id", "other"]).finish();
    assert!(other.stdout.contains("* mine:first\n"), "{other}");
    // Looking switches nothing.
    let switches = tape::read(&home.tape_file("cli:local"));
    let switches: Vec<_> = switches.iter().filter(|entry| entry["payload"]["name"] == "model_switch").collect();
    assert_eq!(switches.len(), 2, "{switches:?}");
}

#[test]
fn choices_are_in_the_order_of_the_hook_without_duplicates() {
    let home = offering(&[
        "{ choices = [\"of:a\", \"mine:second\"] }",
        "{ choices = [{ id = \"of:b\", name = \"The second\" }, \"of:a\", \"\"] }",
    ]);
    let finished = lists(&home, &["  of:b (The second)", "  of:a", "  mine:second", "* mine:first", "  mine:third"]);
    assert_eq!(finished.asked("provide-model-options"), ["b", "a"], "{finished}");
    assert!(finished.saw_hook("provide-model-options").iter().all(|seen| seen["session"] == "cli:local"), "{finished}");
}

#[test]
fn the_first_plugin_with_a_current_model_determines_it() {
    let home = offering(&[
        "{ choices = [\"of:a\"], current = \"of:a\" }",
        "{ choices = [\"of:b\"], current = \"of:b\" }",
        "{ choices = [\"of:c\"], current = \"\" }",
    ]);
    lists(&home, &["  of:c", "* of:b", "  of:a", "  mine:first", "  mine:second", "  mine:third"]);
}

#[test]
fn a_plugin_that_fails_is_left_out_with_a_warning() {
    for (answer, event, why) in [
        ("{ error = \"not today\" }", "plugin.error", "hook `provide-model-options` of plugin `b`: not today"),
        ("{ trap = true }", "plugin.fault", "hook `provide-model-options` of plugin `b`: trapped: "),
    ] {
        let home = offering(&["{ choices = [\"of:a\"] }", answer]);
        let finished = lists(&home, &["  of:a", "* mine:first", "  mine:second", "  mine:third"]);
        let finished = finished.mentions(why);
        let heard = finished.saw_hook("on-error");
        assert!(heard.iter().any(|seen| seen["stage"] == "provide_model_options"), "{finished}");
        let tape = tape::read(&home.tape_file("cli:local"));
        let noted = tape.iter().find(|entry| entry["payload"]["name"] == event);
        let data = &noted.unwrap_or_else(|| panic!("no `{event}` on {tape:?}"))["payload"]["data"];
        assert_eq!(data["hook"], json!("provide-model-options"));
    }
}

#[test]
fn a_plugin_without_the_hook_grant_is_not_called() {
    let home = offering(&["{ choices = [\"of:a\"] }"]).strict();
    let finished = lists(&home, &["* mine:first", "  mine:second", "  mine:third"]);
    assert!(finished.asked("provide-model-options").is_empty(), "{finished}");
}

#[test]
fn names_are_one_line_and_their_number_is_bounded() {
    let many: Vec<String> = (0..300).map(|number| format!("of:{number}")).collect();
    let home = offering(&[&format!(
        "{{ choices = [{{ id = \"of:\\u001B[2Jx\", name = \"a\\nb\" }}, \"{}\"] }}",
        many.join("\", \"")
    )]);
    let finished = home.run([",model"]).finish();
    let lines: Vec<&str> = finished.stdout.lines().collect();
    // After the line of the channel: the current option, for which no place was reserved, and all accepted ones.
    assert_eq!((lines[1], lines[2]), ("* mine:first", "  of: [2Jx (a b)"), "{finished}");
    assert_eq!(lines.len(), 1 + 1 + 256 + 1, "{finished}");
}

#[test]
fn a_plugin_without_the_grant_agent_gets_the_command_that_gives_it() {
    let home = home();
    home.configure("[plugins.builtin]\ngrants = [\"hook:*\", \"tape:read\", \"tape:append\", \"tools:*\"]");
    home.run([",model"]).finish().fails("to give it: bub-wasm plugin grant builtin agent");
}
