//! Loops without an end, in everything that the host ever asks of a plugin.

use super::{LITTLE_FUEL, NO_FUEL};
use crate::home;
use bub_runtime::guest::SERVED;
use bub_tests::{Answer, Finished, Home, Server, programs};
use std::collections::BTreeSet;

/// The plugin, which holds these hooks and stays in that place.
fn staying(home: &Home, place: &str, hooks: &[&str]) {
    let hooks: Vec<String> = hooks.iter().map(|hook| format!("hook:{hook}")).collect();
    let more = ["agent", "model:*", "tools:*"].map(str::to_owned);
    let grants: Vec<String> = hooks.into_iter().chain(more).collect();
    home.configure(&format!("[plugins.endless]\nfollow = true\ngrants = {grants:?}"));
    home.configure(&format!("[plugins.endless.limits]\n{LITTLE_FUEL}"));
    stays(home, place);
}

fn stays(home: &Home, place: &str) {
    home.configure(&format!("[plugins.endless.config]\nwhere = \"{place}\""));
}

/// A home in which only `endless` answers, by repeating the prompt.
fn alone(place: &str, hooks: &[&str]) -> Home {
    let home = home().bare().strict();
    home.plugin("endless", programs::ENDLESS);
    home.configure("[plugins.endless.config]\nalone = true");
    staying(&home, place, &[&["run-model-stream"], hooks].concat());
    home
}

/// A home with everything that the program brings along, where `endless` is asked that hook.
fn among_others(place: &str, hooks: &[&str]) -> Home {
    let home = home().strict();
    home.plugin("endless", programs::ENDLESS);
    staying(&home, place, hooks);
    home
}

fn fault(hook: &str) -> String {
    format!("hook `{hook}` of plugin `endless`: {NO_FUEL}")
}

#[test]
pub(crate) fn endless_passes_where_it_is_not_told_to_stay() {
    alone("nowhere", &["*"]).run(["hi"]).finish().says("[cli:local]\nhi\n");
}

#[test]
pub(crate) fn endless_otherwise_passes_where_it_is_not_told_to_stay() {
    otherwise("nowhere").run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
}

fn otherwise(place: &str) -> Home {
    let home = home().strict();
    home.plugin("endless", programs::ENDLESS_OTHERWISE);
    staying(&home, place, &["run-model", "build-prompt"]);
    home
}

const STAGES: [&str; 7] = [
    "resolve-session",
    "load-state",
    "build-prompt",
    "run-model-stream",
    "save-state",
    "render-outbound",
    "dispatch-outbound",
];

#[test]
fn a_stage_that_never_ends_ends_its_turn_and_no_other() {
    for hook in STAGES {
        let home = alone(hook, &[hook]);
        home.run(["hi"]).finish().fails(&fault(hook));
        // It is still there, and the next one does not meet it.
        stays(&home, "nowhere");
        home.run(["hi"]).finish().says("[cli:local]\nhi\n");
    }
}

const OTHERWISE: [&str; 2] = ["run-model", "build-prompt"];

#[test]
fn a_stage_of_another_version_or_kind_ends_its_turn_and_no_other() {
    for hook in OTHERWISE {
        let home = otherwise(hook);
        home.run(["ECHO:hi"]).finish().fails(&fault(hook));
        stays(&home, "nowhere");
        home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    }
}

const AROUND: [&str; 7] = [
    "system-prompt",
    "selector",
    "before-llm-call",
    "after-llm-call",
    "before-tool-call",
    "after-tool-call",
    "after-turn",
];

/// A turn with one call of a tool.
#[track_caller]
fn calls_a_tool(home: &Home) -> (Finished, Server) {
    let server = Server::new([Answer::tool_call("endless_tool", "{}"), Answer::text("done")]);
    (home.run(["go on"]).model(&server).finish(), server)
}

#[test]
fn an_interceptor_of_the_model_that_never_ends_is_left_out_with_a_warning() {
    for hook in AROUND {
        let home = among_others(hook, &[hook]);
        let (finished, _server) = calls_a_tool(&home);
        finished.says("[cli:local]\ndone\n").mentions(&fault(hook));
        stays(&home, "nowhere");
        let (finished, _server) = calls_a_tool(&home);
        let finished = finished.says("[cli:local]\ndone\n");
        assert!(!finished.stderr.contains("out of fuel"), "{finished}");
    }
}

/// The loop asks what the next step is about, and ends without an answer.
#[test]
fn a_next_step_that_is_never_named_ends_its_turn_and_no_other() {
    let home = among_others("continue-prompt", &["continue-prompt"]);
    let (finished, _server) = calls_a_tool(&home);
    finished.fails(&fault("continue-prompt"));
    stays(&home, "nowhere");
    let (finished, _server) = calls_a_tool(&home);
    finished.says("[cli:local]\ndone\n");
}

#[test]
fn a_tool_that_never_ends_is_a_result_that_the_model_reads() {
    let home = among_others("call-tool", &[]);
    let (finished, server) = calls_a_tool(&home);
    let finished = finished.says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    assert!(result["content"].as_str().is_some_and(|text| text.contains(&fault("call-tool"))), "{result}\n{finished}");
}

#[test]
fn an_observer_of_an_error_that_never_ends_hides_no_error() {
    let home = among_others("on-error", &["on-error"]);
    let finished = home.run(["hi"]).env("BUB_MODEL", "nobody:knows").finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.mentions(&fault("on-error")).mentions("nobody");
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
}

#[test]
fn a_provider_that_never_ends_is_a_model_that_fails() {
    let home = among_others("complete", &["provider"]);
    home.run(["hi"]).env("BUB_MODEL", "endless:model").finish().fails(&fault("complete"));
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
}

#[test]
fn an_embedder_that_never_ends_leaves_keyword_search() {
    for place in ["embedder.model", "embedder.embed"] {
        let home = among_others(place, &["embedder"]);
        home.configure("selector = \"context-builder\"");
        home.configure(
            "[plugins.context-builder.config]\nsliding_window_size = 1\nenable_summary = false\nlanguage = \"en\"",
        );
        let server = Server::new(std::iter::repeat_n(Answer::text("Very well."), 2));
        let says = |session: &str, text: &str| {
            home.run([text, "--session-id", session]).model(&server).finish().says("[cli:local]\nVery well.\n")
        };
        says("cli:monday", "I prefer dark mode in every editor.");
        says("cli:tuesday", "do I like dark mode?").mentions(&fault("embedder"));
        let asked = server.requests();
        assert!(asked[1].body.contains("dark mode in every editor"), "{place}: {}", asked[1].body);
    }
}

#[test]
fn models_that_are_never_listed_are_left_out_of_the_list() {
    let home = among_others("provide-model-options", &["provide-model-options"]);
    let finished = home.run([",model"]).finish().mentions(&fault("provide-model-options"));
    assert!(finished.code == Some(0) && finished.stdout.contains("offline:demo"), "{finished}");
}

#[test]
fn a_reset_blocked_by_a_plugin_is_refused_and_the_tape_is_unchanged() {
    let home = among_others("before-reset", &["before-reset"]);
    home.run(["ECHO:kept"]).finish().says("[cli:local]\nkept\n");
    let finished = home.run([",tape.reset archive=true"]).finish();
    assert!(format!("{}{}", finished.stdout, finished.stderr).contains(&fault("before-reset")), "{finished}");
    stays(&home, "nowhere");
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
}

#[test]
fn a_message_whose_admission_never_ends_is_processed() {
    let home = among_others("admit-message", &["admit-message"]);
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    let chat = home.bub(["chat"]).terminal(100, 30);
    chat.waits();
    chat.say(r#"TOOL:bash {"cmd": "until [ -e go ]; do sleep 0.05; done; echo gone"}"#).sees("bash until");
    chat.say("ECHO:and this").sees("next step");
    std::fs::write(home.workspace().join("go"), "").expect("a file");
    chat.sees("\nand this");
    chat.waits();
}

const ASKED_WHEN_LOADED: [&str; 4] = ["describe", "list-tools", "list-commands", "name"];

#[test]
fn a_plugin_whose_load_time_calls_never_end_is_not_loaded() {
    for place in ASKED_WHEN_LOADED {
        let home = among_others(place, &["*"]);
        let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
        finished.mentions(&format!("plugin `endless` did not load: {}", fault("load")));
        home.bub(["plugin", "list"]).finish().mentions("");
        crate::plugins::lists_as_failed(&home, "endless", NO_FUEL);
    }
}

#[test]
fn a_command_that_never_ends_ends_with_its_fuel() {
    let home = among_others("run-command", &[]);
    home.bub(["endless"]).finish().fails(&fault("run-command"));
    stays(&home, "nowhere");
    home.bub(["endless"]).finish().says("done\n");
}

/// The functions of a store, and commands that need a tape.
const KEEPER: [&str; 8] = ["commit", "read", "tail", "newest", "list-tapes", "list-sidecars", "archive-name", "query"];
const WANTED: [&[&str]; 8] = [
    &["run", "hi"],
    &["tape", "show"],
    &["tape", "export"],
    &["tape", "context"],
    &["tape", "search", "session"],
    &["tape", "info"],
    &["tape", "list"],
    &["tape", "reset", "--archive", "--yes"],
];

#[test]
fn a_store_that_never_ends_fails_every_command_that_needs_a_tape() {
    for function in KEEPER {
        let mut met = 0;
        for wanted in WANTED {
            let home = alone(&format!("store.{function}"), &["tape-store"]);
            let tape = home.tape_file("cli:local");
            let tape = tape.file_stem().expect("it has a name").to_string_lossy().into_owned();
            home.configure(&format!("[plugins.endless.config]\ntape = \"{tape}\""));
            let finished = home.bub(wanted.iter().copied()).finish();
            if format!("{finished}").contains(&fault("store")) {
                met += 1;
                assert!(finished.code == Some(1) || !finished.stderr.contains("error: "), "{function}\n{finished}");
                stays(&home, "nowhere");
                home.run(["hi"]).finish().says("[cli:local]\nhi\n");
            }
        }
        assert!(met > 0, "nothing needs `{function}`");
    }
}

/// A new contract needs a loop here.
#[test]
fn every_contract_has_a_test_with_an_endless_loop() {
    let tried = STAGES.into_iter().chain(OTHERWISE).chain(AROUND);
    let others = [
        "continue-prompt",
        "on-error",
        "provider",
        "embedder",
        "provide-model-options",
        "before-reset",
        "admit-message",
    ];
    // Loaded, called by name, and kept.
    let more = ["tools", "commands", "manifest", "store", "store-query", "channel"];
    let tried: BTreeSet<&str> = tried.chain(others).chain(more).collect();
    let served = SERVED.iter().map(|(interface, _)| interface.rsplit('/').next().unwrap_or(interface));
    assert_eq!(tried, served.collect::<BTreeSet<&str>>());
}
