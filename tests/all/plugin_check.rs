//! `plugin check`: plugins are tried in a sandbox.

use crate::home;
use crate::plugin_add::{described, does, file, new, plugin};
use bub_tests::{Finished, Home, programs};
use serde_json::{Value, json};
use std::fs;

/// The output of `plugin check --json` for a plugin, and whether it is reported as broken.
#[track_caller]
fn checked(home: &Home, plugin: &str) -> Value {
    let finished = self::plugin(home, ["check", plugin, "--json"]);
    let told: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}\n{finished}"));
    let is_broken = told["broken"] != json!([]);
    assert_eq!(finished.code, Some(i32::from(is_broken)), "{finished}");
    told
}

#[track_caller]
fn keeps(finished: &Finished, name: &str) {
    let last = finished.stdout.lines().next_back().unwrap_or_default();
    let kept = format!("plugin `{name}` followed its contract in all samples");
    assert!(finished.code == Some(0) && last.starts_with(&kept), "{finished}");
    // That it is well, and that something was not tried, are two things.
    let untried = finished.stdout.lines().filter(|line| line.starts_with("not tried: ")).count();
    assert_eq!(last.ends_with(" not tried"), untried > 0, "{finished}");
    assert!(finished.stderr.is_empty(), "{finished}");
}

#[test]
fn the_programs_own_guests_keep_to_their_contracts() {
    let home = home().strict();
    for name in
        ["builtin", "offline", "workspace", "shell", "web", "skills", "tapes", "memory", "context-builder", "telegram"]
    {
        keeps(&plugin(&home, ["check", name]), name);
    }
}

#[test]
fn the_examples_keep_to_their_contracts() {
    let home = home().strict();
    let name = |path: &str| std::path::Path::new(path).file_stem().expect("a file").to_string_lossy().into_owned();
    for path in [
        programs::ECHO,
        programs::WINDOW,
        programs::COMPACT,
        programs::FROZEN,
        programs::CALLER,
        programs::COUNTER,
        programs::DEEDS,
        programs::KEEPER,
        programs::ODD_TOOLS,
        programs::POSTER,
        programs::WEBHOOK,
        programs::PROMPT_TRIAL,
        programs::PROMPT_UPPER,
        programs::SCRIPTED,
        programs::SCRIPTED_STREAM,
        programs::SEEKER,
        programs::TRIER,
    ] {
        keeps(&plugin(&home, ["check", path]), &name(path));
    }
}

#[test]
fn each_hook_is_listed_with_calls_time_and_fuel() {
    let told = checked(&home().strict(), programs::SCRIPTED);
    let hooks = told["hooks"].as_array().expect("hooks");
    assert!(hooks.len() >= 16, "{told:#}");
    for hook in hooks {
        let asked = hook["calls"].as_u64().is_some_and(|calls| calls > 0) && hook["faults"] == 0;
        assert!(asked && hook["most_fuel"].as_u64().is_some_and(|fuel| fuel > 0), "{hook:#}");
    }
    assert_eq!(told["not_asked"], json!([]), "{told:#}");
}

#[test]
fn a_panic_is_reported_with_a_fix_and_the_call_is_recorded() {
    let home = home().strict();
    let finished = plugin(&home, ["check", programs::FAULT_PANIC]);
    assert_eq!(finished.code, Some(1), "{finished}");
    for line in [
        "broken: hook `build-prompt`, a first message: panicked: ",
        "guest says no: 42\n  fix: return an `error` where it panics\n",
        "to repeat it: bub-wasm plugin check --repro ",
        "plugin `fault_panic` breaks its contract\n",
    ] {
        assert!(finished.stdout.contains(line), "{line}\n{finished}");
    }
    // The trial leaves only its output.
    assert!(!home.bub_home().join("quarantine/breakers.json").exists());
    assert!(
        !home.bub_home().join("tapes").exists() || fs::read_dir(home.tapes_dir()).expect("it is there").count() == 0
    );
    let told = checked(&home, programs::FAULT_PANIC);
    let kept = told["reproducers"][0].as_str().expect("a path");
    assert!(kept.starts_with(home.bub_home().to_str().expect("UTF-8")), "{told:#}");
    assert!(std::path::Path::new(kept).join("component.wasm").exists(), "{told:#}");
}

#[test]
fn each_violation_is_found_in_its_hook() {
    for (answers, hook, what) in [
        ("build-prompt = { trap = true }", "build-prompt", "trapped"),
        ("load-state = [1]", "load-state", "no JSON object"),
        ("build-prompt = { parts = \"{}\" }", "build-prompt", "no JSON array"),
        ("after-turn = { trap = true }", "after-turn", "trapped"),
        ("admit-message = { trap = true }", "admit-message", "trapped"),
        ("on-error = { trap = true }", "on-error", "trapped"),
        ("before-tool-call = { trap = true }", "before-tool-call", "trapped"),
        ("provide-model-options = { trap = true }", "provide-model-options", "trapped"),
    ] {
        let home = home().strict();
        home.scripted("weak", programs::SCRIPTED, answers);
        let told = checked(&home, "weak");
        let broken = told["broken"].as_array().expect("a list");
        let is_it = |found: &Value| {
            let has = |key: &str, text: &str| found[key].as_str().is_some_and(|value| value.contains(text));
            has("where", &format!("hook `{hook}`, ")) && has("what", what) && found["fix"] != ""
        };
        assert!(broken.len() == 1 && is_it(&broken[0]), "{answers}: {told:#}");
    }
}

#[test]
fn a_plugin_that_spins_is_ended_by_its_own_limits() {
    let home = home().strict();
    home.plugin("fault_spin", programs::FAULT_SPIN);
    home.configure("[plugins.fault_spin.limits]\nfuel = 5_000_000");
    let finished = plugin(&home, ["check", "fault_spin"]);
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stdout.contains("out of fuel after 5000000 units\n  fix: do less in one call"), "{finished}");
}

#[test]
fn a_selector_that_omits_user_messages_breaks_its_contract() {
    let told = checked(&home().strict(), programs::CHOOSY);
    let broken = &told["broken"][0];
    assert!(broken["where"].as_str().is_some_and(|place| place.starts_with("hook `selector`, ")), "{told:#}");
    assert!(broken["what"].as_str().is_some_and(|what| what.contains("is not in it")), "{told:#}");
}

#[test]
fn a_needed_grant_that_is_not_requested_is_noted() {
    let home = home().strict();
    // Its loop calls a model; its manifest requests its hook alone.
    let manifest = json!({ "wants": [{ "grant": "hook:run-model", "why": "" }] });
    let path = file(&home, "caller.wasm", &described(programs::CALLER, &manifest));
    let told = checked(&home, path.to_str().expect("UTF-8"));
    let notes = told["notes"].to_string();
    assert!(notes.contains("it was refused `model:offline:demo`") && notes.contains("add it to `wants`"), "{told:#}");
    assert!(notes.contains("it requests `hook:run-model` without a reason"), "{told:#}");

    let manifest = json!({ "wants": [] });
    let path = file(&home, "upper.wasm", &described(programs::PROMPT_UPPER, &manifest));
    let told = checked(&home, path.to_str().expect("UTF-8"));
    let notes = told["notes"].to_string();
    assert!(
        notes.contains("the manifest does not request `hook:build-prompt`") && notes.contains("never called"),
        "{told:#}"
    );
}

#[test]
fn a_plugin_that_steers_the_model_reaches_nothing_outside_of_its_trial() {
    let home = home().strict();
    let proof = home.workspace().join("proof");
    let order = format!(r#"TOOL:bash {{\"cmd\": \"touch {}\"}}"#, proof.display());
    home.scripted("steer", programs::SCRIPTED, &format!("build-prompt = \"{order}\""));
    // The model calls what the prompt asks for, where it is granted.
    does(&home, ["grant", "steer", "hook:build-prompt"]);
    assert_eq!(home.run(["hi"]).finish().code, Some(0));
    assert!(proof.exists(), "the order is a good one");
    fs::remove_file(&proof).expect("it is there");
    let finished = plugin(&home, ["check", "steer"]);
    assert!(finished.code == Some(0) && !proof.exists(), "{finished}");
}

#[test]
fn access_outside_of_the_sandbox_needs_an_explicit_grant() {
    let home = new();
    let proof = home.workspace().join("proof");
    home.configure(&format!(
        "[plugins.trier.config]\ntries = [\"process\"]\n[plugins.trier.config.with]\nproof = \"{}\"",
        proof.display()
    ));
    let bytes = described(
        programs::TRIER,
        &json!({ "wants": [
        { "grant": "hook:run-model", "why": "to try" }, { "grant": "process", "why": "to try" },
    ] }),
    );
    fs::write(home.bub_home().join("plugins/trier.wasm"), bytes).expect("it can be written");
    let refused = checked(&home, "trier")["notes"].to_string();
    assert!(refused.contains("it was refused `process`") && refused.contains("--grant does"), "{refused}");
    let finished = plugin(&home, ["check", "trier", "--grant", "process", "--json"]);
    assert!(!finished.stdout.contains("it was refused `process`"), "{finished}");
}

#[test]
fn commands_are_run_and_ended_where_they_go_on() {
    let told = checked(&home().strict(), programs::COMMANDER);
    let found = |list: &str, place: &str, what: &str| {
        told[list].as_array().into_iter().flatten().any(|found| {
            let has = |key: &str, text: &str| found[key].as_str().is_some_and(|value| value.contains(text));
            has("where", place) && has("what", what)
        })
    };
    assert!(found("broken", "its command `fall`", "panicked: "), "{told:#}");
    assert!(found("notes", "its command `wait`", "it still ran"), "{told:#}");
    assert_eq!(told["broken"].as_array().map(Vec::len), Some(1), "{told:#}");
}

#[test]
fn unusable_arguments_are_reported_in_one_line() {
    let home = home().strict();
    let noise = file(&home, "noise.wasm", b"no wasm at all");
    plugin(&home, ["check", noise.to_str().expect("UTF-8")]).refuses(&["noise.wasm", "does not load"]);
    plugin(&home, ["check", "nowhere.wasm"]).refuses(&["`nowhere.wasm`", "no such file or directory"]);
    plugin(&home, ["check", "shel"]).refuses(&["there is no plugin `shel`; did you mean `shell`"]);
    plugin(&home, ["check", "shell", "--grant", "proces"]).refuses(&["`proces`", "did you mean `process`"]);
    assert_eq!(plugin(&home, ["check"]).code, Some(2));
}

/// The parts that were not tried, each with the reason.
#[track_caller]
fn untried(told: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = told["not_tried"].as_array().expect("a list").iter();
    all.map(|untried| (text(&untried["what"]), text(&untried["why"]))).collect()
}

#[test]
fn untested_parts_are_not_reported_as_passed() {
    let home = home().strict();
    let manifest = json!({ "wants": [
        { "grant": "hook:run-model", "why": "to try" },
        { "grant": "http:api.example.com", "why": "to ask there" },
        { "grant": "secret:door", "why": "to be let in" },
        { "grant": "process", "why": "to start it" },
        { "grant": "fs:/srv/notes:ro", "why": "to read them" },
        { "grant": "tape:append", "why": "to write" },
    ] });
    let path = file(&home, "upper.wasm", &described(programs::TRIER, &manifest));
    let path = path.to_str().expect("UTF-8");
    let told = checked(&home, path);
    assert_eq!(told["broken"], json!([]), "{told:#}");
    let untried = untried(&told);
    for (what, why) in [
        ("`http:api.example.com`, which talks to api.example.com", "a trial sends no requests; --grant allows them"),
        ("`secret:door`", "there are no secrets in a trial"),
        ("`process`", "a trial runs no programs"),
        ("`fs:/srv/notes:ro`", "no other directory"),
        ("`tape:append`", "no sample led to its use"),
    ] {
        let is_it = |(found, because): &(String, String)| found.starts_with(what) && because.contains(why);
        assert!(untried.iter().any(is_it), "{what}: {told:#}");
    }
    let shown = plugin(&home, ["check", path]);
    let last =
        format!("plugin `upper` followed its contract in all samples; {} parts of it were not tried\n", untried.len());
    assert!(shown.stdout.ends_with(&last), "{shown}");
    assert!(shown.stdout.contains("not tried: `secret:door`, which has the secret door sent to hosts"), "{shown}");
    // A secret that is granted is not there either.
    let granted = plugin(&home, ["check", path, "--grant", "secret:door", "--json"]);
    assert!(granted.stdout.contains("there are no secrets in a trial"), "{granted}");
}

#[test]
fn a_plugin_without_a_manifest_that_could_send_requests_is_reported_as_untested() {
    let told = checked(&home().strict(), programs::TRIER);
    let untried = untried(&told);
    assert!(
        untried.iter().any(|(what, why)| what == "its requests" && why.contains("`--grant http:HOST`")),
        "{told:#}"
    );
}

#[test]
fn each_hook_is_listed_with_its_samples_and_single_input_is_noted() {
    let home = home().strict();
    let told = checked(&home, programs::SCRIPTED);
    let hook = |name: &str| told["hooks"].as_array().into_iter().flatten().find(|hook| hook["hook"] == name).cloned();
    assert!(hook("build-prompt").is_some_and(|hook| hook["samples"].as_u64() > Some(10)), "{told:#}");
    assert!(hook("admit-message").is_some_and(|hook| hook["samples"] == 2), "{told:#}");
    let once = told["tried_once"].as_array().expect("a list");
    assert!(
        once.iter().all(|once| hook(once["hook"].as_str().expect("a name")).is_some_and(|hook| hook["samples"] == 1))
    );
    assert!(once.iter().any(|once| once["hook"] == "provide-model-options"), "{told:#}");
    let shown = plugin(&home, ["check", programs::SCRIPTED]);
    assert!(shown.stdout.contains("tested with one kind of input only: hook `provide-model-options`: "), "{shown}");
}

#[test]
fn a_hook_that_takes_too_long_keeps_no_other_from_being_tried() {
    let home = home().strict();
    home.scripted("weak", programs::SCRIPTED, "build-prompt = { wait = 30000 }\nsave-state = { trap = true }");
    home.configure("[plugins.weak.limits]\ndeadline_ms = 300");
    let told = checked(&home, "weak");
    let broken = told["broken"].to_string();
    assert!(
        broken.contains("hook `build-prompt`, a first message") && broken.contains("took longer than 300 ms"),
        "{told:#}"
    );
    assert!(broken.contains("hook `save-state`, a first message"), "{told:#}");
    // It is not called in later samples, and the output says so.
    let calls = told["hooks"].as_array().into_iter().flatten().find(|hook| hook["hook"] == "build-prompt");
    assert!(calls.is_some_and(|hook| hook["calls"] == 1), "{told:#}");
    let slow = untried(&told);
    let says = "it took longer than 300 ms in a first message, and was not called in later samples";
    assert!(slow.contains(&("hook `build-prompt`".to_owned(), says.to_owned())), "{told:#}");
}

#[test]
fn a_hook_that_fails_is_called_in_every_sample() {
    let home = home().strict();
    home.scripted("weak", programs::SCRIPTED, "build-prompt = { trap = true }");
    let told = checked(&home, "weak");
    let hook = told["hooks"].as_array().into_iter().flatten().find(|hook| hook["hook"] == "build-prompt").cloned();
    assert!(hook.is_some_and(|hook| hook["faults"].as_u64() > Some(10)), "{told:#}");
    assert_eq!(told["not_asked"], json!([]), "{told:#}");
}

#[test]
fn a_tool_that_was_never_reached_is_not_called_well() {
    let home = home().strict();
    home.plugin("hostile", programs::HOSTILE);
    let parameters =
        json!({ "required": ["code"], "properties": { "code": { "type": "string", "pattern": "^[0-9]{3}$" } } });
    home.configure(&format!("[plugins.hostile.config]\nparameters = {}", json!(parameters.to_string())));
    let told = checked(&home, "hostile");
    let is_it =
        |(what, why): &(String, String)| what == "its tool `hostile.tool`" && why.contains("do not fit its schema");
    assert!(untried(&told).iter().any(is_it), "{told:#}");
}

/// A dotted name in backticks is a function of the contracts, or a key of the configuration.
#[test]
fn fixes_name_existing_functions() {
    const SOURCES: [&str; 4] = [
        include_str!("../../host/cli/src/cli/plugin/check/diagnostic.rs"),
        include_str!("../../host/cli/src/cli/plugin/check/coverage.rs"),
        include_str!("../../host/cli/src/cli/plugin/check/channel.rs"),
        include_str!("../../host/cli/src/cli/plugin/check.rs"),
    ];
    let contracts: String = ["turn", "tape", "model", "hooks", "channel", "tools", "types"]
        .map(|name| fs::read_to_string(format!("{}/../../wit/deps/bub-{name}/{name}.wit", env!("CARGO_MANIFEST_DIR"))))
        .map(|text| text.expect("the contracts are there"))
        .concat();
    let mut names = 0;
    for line in SOURCES.iter().flat_map(|source| source.lines()) {
        let line = line.trim();
        // Messages are in string literals; comments and code may name the host's own functions.
        if line.starts_with("//") || !line.contains('"') {
            continue;
        }
        for quoted in line.split('`').skip(1).step_by(2) {
            names += 1;
            let Some((resource, function)) = quoted.split_once('.') else { continue };
            let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if is_name(resource) && is_name(function) {
                assert!(contracts.contains(&format!("{function}: func(")), "`{quoted}` is no function: {line}");
            }
        }
    }
    assert!(names > 10, "texts are found");
    for key in ["fuel", "memory_mib", "deadline_ms", "calls"] {
        assert!(SOURCES[0].contains(&format!("`{key}`")), "`{key}`");
    }
}
