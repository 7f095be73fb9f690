//! Plugins that are dropped in, listed, switched off and refused.

use crate::home;
use bub_tests::golden::Case;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::Value;

/// The output of `hooks --json`.
#[track_caller]
fn listed(home: &Home) -> Value {
    let finished = home.bub(["hooks", "--json"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{finished}"))
}

/// The plugins of one hook, in the order in which they run.
#[track_caller]
fn plugins_of(listed: &Value, hook: &str) -> Vec<String> {
    let row = listed["hooks"].as_array().into_iter().flatten().find(|row| row["hook"] == hook);
    let row = row.unwrap_or_else(|| panic!("`{hook}` is not listed in {listed}"));
    let plugins = row["plugins"].as_array().into_iter().flatten();
    plugins.map(|plugin| plugin.as_str().expect("a plugin has a name").to_owned()).collect()
}

/// `hooks --json` says that this plugin did not load, and why.
#[track_caller]
pub(crate) fn lists_as_failed(home: &Home, plugin: &str, reason: &str) {
    let listed = listed(home);
    let failed = listed["failed"].as_array().into_iter().flatten().find(|row| row["plugin"] == plugin);
    let failed = failed.unwrap_or_else(|| panic!("`{plugin}` is not among the failed of {listed}"));
    assert!(failed["reason"].as_str().is_some_and(|text| text.contains(reason)), "{failed}");
}

#[test]
pub(crate) fn prompt_upper() {
    let home = home();
    home.plugin("prompt_upper", programs::PROMPT_UPPER);
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].last_content(), "HI");
}

#[test]
fn hooks_are_listed_in_the_order_in_which_they_run() {
    let home = home();
    home.plugin("b_upper", programs::PROMPT_UPPER).plugin("a_upper", programs::PROMPT_UPPER);
    let listed = listed(&home);
    assert_eq!(plugins_of(&listed, "build-prompt"), ["b_upper", "a_upper", "builtin"]);
    let row = listed["hooks"].as_array().into_iter().flatten().find(|row| row["hook"] == "build-prompt");
    assert_eq!(row.map(|row| &row["way"]), Some(&"first result".into()));
    assert_eq!(listed["failed"], Value::Array(Vec::new()));
}

#[test]
pub(crate) fn model_twice() {
    let home = home();
    home.plugin("model_twice", programs::MODEL_TWICE);
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    finished.mentions("plugin `model_twice` did not load: ").mentions("`run-model-stream`");
    lists_as_failed(&home, "model_twice", "run-model");
}

#[test]
fn a_file_that_is_no_component_is_named_and_left_out() {
    let home = home();
    std::fs::write(home.bub_home().join("plugins/noise.wasm"), "no wasm at all").expect("the home can be written");
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    finished.mentions("plugin `noise` did not load: ");
    lists_as_failed(&home, "noise", "");
}

#[test]
fn a_disabled_plugin_is_not_called() {
    let home = home().bare();
    home.scripted("a", programs::SCRIPTED, "run-model = \"from a\"");
    home.configure("[plugins.a]\nenabled = false");
    home.run(["hi"]).finish().says("[cli:local]\nhi\n");
}

/// No host call that a stranger could not be granted.
#[test]
fn the_builtin_guest_works_the_same_from_the_directory_of_plugins() {
    for case in ["plain", "tool_call"] {
        let home = from_the_directory();
        Case::new(case).is_repeated_in(&home);
    }
    let case = Case::new("overflow").behind_anchor(3, "auto_handoff/context_overflow");
    case.is_repeated_in(&from_the_directory());
}

fn from_the_directory() -> Home {
    let home = home();
    home.configure("[plugins.builtin]\nenabled = false");
    home.configure("[plugins.mine]\ngrants = [\"tape:read\", \"tape:append\", \"model:*\", \"tools:*\", \"agent\"]");
    home.plugin("mine", programs::BUILTIN);
    home
}

#[test]
fn without_grants_the_builtin_guest_reports_the_missing_grants() {
    let home = home();
    home.configure("[plugins.builtin]\nenabled = false");
    home.plugin("mine", programs::BUILTIN);
    home.run(["hi"]).finish().fails("plugin `mine` does not hold the grant");
}

#[test]
fn a_tool_without_its_grant_reports_the_missing_grant_to_the_model() {
    let home = home();
    home.configure("[plugins.tapes]\ngrants = []");
    let server = Server::new([Answer::tool_call("tape_info", "{}"), Answer::text("so be it")]);
    home.run(["how long is the tape"]).model(&server).finish().says("[cli:local]\nso be it\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    let text = result["content"].as_str().unwrap_or_default();
    assert!(text.contains("denied") && text.contains("tape:read"), "{text}");
}

#[test]
fn the_template_answers_by_itself() {
    let home = home();
    home.plugin("echo", programs::ECHO);
    let finished = home.run(["hi"]).finish();
    let answered = finished.stdout.starts_with("[cli:local]\n[echo] ") && finished.stdout.ends_with("hi\n");
    assert!(finished.code == Some(0) && answered, "{finished}");
}

#[test]
fn without_a_model_the_offline_guest_answers_and_introduces_itself() {
    let finished = home().run(["hi"]).finish();
    assert!(finished.code == Some(0) && finished.stdout.starts_with("[cli:local]\n"), "{finished}");
    assert!(finished.stdout.contains("no language model") && finished.stdout.contains("BUB_MODEL"), "{finished}");
}

#[test]
fn the_offline_guest_is_the_same_from_the_directory_of_plugins() {
    let home = home();
    home.configure("[plugins.offline]\nenabled = false");
    home.plugin("spare", programs::OFFLINE);
    home.run(["ECHO:from a file"]).finish().says("[cli:local]\nfrom a file\n");
}
