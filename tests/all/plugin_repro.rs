//! `plugin check --repro`: calls that broke are made again.

use crate::home;
use crate::hooks::STAGES;
use crate::plugin_add::plugin;
use bub_tests::{Finished, Home, programs};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the calls that broke.
fn folders(home: &Home) -> Vec<PathBuf> {
    let dir = home.bub_home().join("quarantine");
    let all = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.is_dir()).collect();
    all.sort();
    all
}

/// The one call that has broken in that home.
#[track_caller]
fn broken(home: &Home) -> PathBuf {
    let folders = folders(home);
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

fn again(home: &Home, folder: &Path, more: &[&str]) -> Finished {
    let folder = folder.to_str().expect("UTF-8");
    plugin(home, ["check", "--repro", folder].into_iter().chain(more.iter().copied()))
}

/// The recorded call, changed.
fn tell(folder: &Path, change: impl FnOnce(&mut Value)) {
    let file = folder.join("call.json");
    let mut call: Value = serde_json::from_str(&fs::read_to_string(&file).expect("it is kept")).expect("it is JSON");
    change(&mut call);
    fs::write(file, call.to_string()).expect("it can be written");
}

#[track_caller]
fn breaks(finished: &Finished, fault: &str) {
    let said = finished.stdout.contains("it breaks again: ") && finished.stdout.contains("\n  fix: ");
    assert!(finished.code == Some(1) && said && finished.stdout.contains(fault), "{finished}");
}

#[track_caller]
fn ends_well(finished: &Finished) {
    assert!(finished.code == Some(0) && finished.stdout.contains("it ends well"), "{finished}");
}

#[test]
fn a_recorded_call_fails_again_and_succeeds_in_a_fixed_build() {
    let home = home().bare();
    home.plugin("weak", programs::FAULT_PANIC);
    home.run(["hi"]).finish().fails("hook `build-prompt` of plugin `weak`: panicked: ");
    let folder = broken(&home);
    let finished = again(&home, &folder, &[]);
    breaks(&finished, "hook `build-prompt` of plugin `weak`: it breaks again: panicked: ");
    assert!(finished.stdout.contains("guest says no: 42") && finished.stderr.is_empty(), "{finished}");
    ends_well(&again(&home, &folder, &[programs::PROMPT_UPPER]));

    let told = again(&home, &folder, &["--json"]);
    let json: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}\n{told}"));
    assert_eq!((told.code, &json["breaks"]), (Some(1), &true.into()), "{told}");
    assert_eq!(json["fault"], json["before"], "{told}");
    let told = again(&home, &folder, &[programs::PROMPT_UPPER, "--json"]);
    let json: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}\n{told}"));
    assert_eq!((told.code, &json["breaks"], &json["fault"]), (Some(0), &false.into(), &Value::Null), "{told}");
    // The repetition does not count as another fault.
    assert_eq!(folders(&home).len(), 1);
}

/// A plugin that panics, and its crash report.
#[track_caller]
fn panicked() -> (Home, PathBuf) {
    let home = home().bare();
    home.plugin("weak", programs::FAULT_PANIC);
    home.run(["hi"]).finish().fails("panicked: ");
    let folder = broken(&home);
    (home, folder)
}

/// A scripted plugin that breaks in that hook, in a home with only the plugins that a turn needs.
#[track_caller]
fn weak(is_bare: bool, answers: &str, message: &str) -> (Home, PathBuf) {
    let home = if is_bare { home().bare() } else { home() };
    home.scripted("weak", programs::SCRIPTED, answers);
    let finished = home.run([message]).finish();
    assert!(!folders(&home).is_empty(), "nothing broke: {answers}\n{finished}");
    let folder = broken(&home);
    (home, folder)
}

#[test]
fn calls_of_every_hook_of_a_turn_are_made_again_as_they_were() {
    const TRAP: &str = "{ trap = true }";
    for hook in STAGES {
        let (home, folder) = weak(true, &format!("{hook} = {TRAP}"), "hi");
        breaks(&again(&home, &folder, &[]), &format!("hook `{hook}` of plugin `weak`: it breaks again: trapped"));
    }
    for (hook, message) in [
        ("system-prompt", "hi"),
        ("before-llm-call", "hi"),
        ("after-llm-call", "hi"),
        ("on-error", "ERR500"),
        ("before-tool-call", "TOOL:tape_info {}"),
        ("after-tool-call", "TOOL:tape_info {}"),
        ("continue-prompt", "TOOL:tape_info {}"),
        ("provide-model-options", ",model"),
    ] {
        let (home, folder) = weak(false, &format!("{hook} = {TRAP}"), message);
        breaks(&again(&home, &folder, &[]), &format!("hook `{hook}` of plugin `weak`: it breaks again: trapped"));
    }
}

#[test]
fn an_answer_that_broke_the_contract_breaks_it_again() {
    let (home, folder) = weak(true, "load-state = [1]", "hi");
    breaks(&again(&home, &folder, &[]), "broke the contract: the state it loaded is no JSON object");
    // With another configuration it does not fail: the recorded configuration is used.
    tell(&folder, |call| call["config"]["answers"]["load-state"] = json!({ "a": 1 }));
    ends_well(&again(&home, &folder, &[]));
}

#[test]
fn the_recorded_limits_apply() {
    let home = home().bare();
    home.plugin("weak", programs::FAULT_SPIN);
    home.configure("[plugins.weak.limits]\nfuel = 3_000_000");
    home.run(["hi"]).finish().fails("out of fuel after 3000000 units");
    let folder = broken(&home);
    breaks(&again(&home, &folder, &[]), "out of fuel after 3000000 units");
}

#[test]
fn tools_providers_selectors_and_commands_are_called_again() {
    let home = home();
    home.plugin("weak", programs::CHOOSY);
    home.configure("[plugins.weak.config]\ndeed = \"trap\"");
    assert_eq!(home.run(["hi"]).finish().code, Some(0));
    let folder = broken(&home);
    breaks(&again(&home, &folder, &[]), "hook `selector` of plugin `weak`: it breaks again: trapped");
    tell(&folder, |call| call["config"] = json!({}));
    ends_well(&again(&home, &folder, &[programs::WINDOW]));

    let home = crate::home();
    home.plugin("weak", programs::ODD_TOOLS);
    home.configure("[plugins.weak.limits]\nfuel = 1_000_000");
    assert_eq!(home.run(["TOOL:big {}"]).finish().code, Some(0));
    let folder = broken(&home);
    breaks(&again(&home, &folder, &[]), "hook `call-tool` of plugin `weak`: it breaks again: out of fuel");
    ends_well(&again(&home, &folder, &[programs::DEEDS]));

    let home = crate::home().bare();
    home.plugin("weak", programs::COMMANDER);
    assert_eq!(home.bub(["fall"]).finish().code, Some(1));
    let folder = broken(&home);
    breaks(&again(&home, &folder, &[]), "hook `run-command` of plugin `weak`: it breaks again: panicked: ");
}

#[test]
fn a_changed_record_is_rejected() {
    let (home, folder) = panicked();
    let component = fs::read(folder.join("component.wasm")).expect("it is kept");
    fs::write(folder.join("component.wasm"), [component.as_slice(), b"\0\x01\0"].concat()).expect("it can be written");
    again(&home, &folder, &[]).refuses(&["component.wasm", "is not the plugin of the call: its sha256 is "]);
    fs::remove_file(folder.join("component.wasm")).expect("it is there");
    again(&home, &folder, &[]).refuses(&["was not recorded; name the plugin's file"]);
    ends_well(&again(&home, &folder, &[programs::PROMPT_UPPER]));
}

#[test]
fn a_call_that_cannot_be_repeated_is_reported_in_one_line() {
    let (home, folder) = panicked();
    let original = fs::read(folder.join("call.json")).expect("it is kept");
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 8] = [
        (
            |call| call["arguments"] = json!({ "left_out": "it is too large" }),
            "what the call was given is not kept: it is too large",
        ),
        (|call| call["arguments"] = Value::Null, "what the call was given is not kept"),
        (|call| call["turn"] = json!({ "left_out": "it is too large" }), "the turn was too large to be recorded"),
        (
            |call| call["config"] = json!({ "left_out": "it is too large" }),
            "its configuration was too large to be recorded",
        ),
        (|call| call["hook"] = "store".into(), "does not say which of its functions was called"),
        (|call| call["hook"] = "ho\u{1b}[2Jok".into(), "calls of `ho [2Jok` cannot be made again"),
        (|call| call["plugin"] = "../../evil".into(), "a plugin's name has at most"),
        (|call| call["limits"] = json!({ "fuel": "much" }), "is not understood"),
    ];
    for (change, naming) in cases {
        fs::write(folder.join("call.json"), &original).expect("it can be written");
        tell(&folder, change);
        again(&home, &folder, &[]).refuses(&[naming]);
    }
    for text in ["", "{", "[]", "{\"plugin\": 1}", &"[".repeat(100_000)] {
        fs::write(folder.join("call.json"), text).expect("it can be written");
        again(&home, &folder, &[]).refuses(&["call.json` is not understood"]);
    }
    again(&home, &home.workspace(), &[]).refuses(&["has no recorded call"]);
    // A build that has no such hook.
    fs::write(folder.join("call.json"), &original).expect("it can be written");
    again(&home, &folder, &[programs::ECHO]).refuses(&["plugin `weak` was not asked `build-prompt`"]);
}

#[test]
fn a_call_of_an_embedded_guest_is_made_again_in_its_own_bytes() {
    let home = home();
    home.configure("[plugins.offline.limits]\nfuel = 1_000");
    let finished = home.run(["hi"]).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let folder = broken(&home);
    breaks(&again(&home, &folder, &[]), "hook `complete` of plugin `offline`: it breaks again: out of fuel");
}
