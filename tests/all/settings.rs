//! `config.toml` beside the environment, and output whose reader closes it early.

use crate::home;
use bub_tests::golden::cases;
use bub_tests::{Answer, Server};
use serde_json::{Value, json};

/// No server listens there.
const NOWHERE: &str = "http://127.0.0.1:9/v1";

#[test]
fn an_address_in_the_configuration_is_used() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("api_base = \"{}\"", server.base()));
    let run = home.run(["hi"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_KEY", "sk-fake");
    run.finish().says("[cli:local]\nhello\n");
}

#[test]
fn an_address_for_one_provider_overrides_the_configuration() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("api_base = \"{NOWHERE}\""));
    let run = home.run(["hi"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_KEY", "sk-fake");
    run.env("BUB_OPENAI_API_BASE", server.base()).finish().says("[cli:local]\nhello\n");
}

#[test]
fn an_address_for_all_overrides_the_configuration() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("api_base = \"{NOWHERE}\""));
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
}

#[test]
fn the_model_can_be_configured_in_the_file() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("model = \"openai:mine\"\napi_base = \"{}\"", server.base()));
    home.run(["hi"]).env("BUB_API_KEY", "sk-fake").finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].json()["model"], "mine");
}

#[test]
fn no_tokens_are_no_answer() {
    let home = home();
    home.configure("max_tokens = 0");
    home.run(["ECHO:hi"]).finish().refuses(&["max_tokens", "0"]);
}

#[test]
fn no_steps_are_no_answer() {
    let home = home();
    home.configure("max_steps = 0");
    home.run(["ECHO:hi"]).finish().refuses(&["max_steps", "0"]);
}

#[test]
fn no_time_is_no_time_for_an_answer() {
    for seconds in ["0", "0.0", "-1", "nan", "1e300"] {
        let home = home();
        home.configure(&format!("model_timeout_seconds = {seconds}"));
        home.run(["ECHO:hi"]).finish().refuses(&["model_timeout_seconds"]);
    }
}

#[test]
fn a_closed_output_is_not_an_error() {
    let home = home();
    for reader in ["head -n 1", "true"] {
        // The pipe line runs in place of the program alone, and tells how the program ended.
        let before = format!("{{ \"$0\" \"$@\"; echo \"ended with $?\" >&2; }} | {reader}; exit 0");
        let finished = home.bub(["hooks"]).under(&before).finish();
        assert_eq!(finished.stderr, "ended with 0\n", "{reader}\n{finished}");
    }
}

/// The name and value of this program's setting for one of the original's.
///
/// On purpose: without a model a guest answers by itself, and none is asked over the network; no limit is no number; a
/// list that is empty is a list.
fn ours(name: &str, theirs: &Value) -> Value {
    match name {
        "model" if theirs == "openrouter:openrouter/free" => json!("offline:demo"),
        "max_steps" if *theirs == json!(i64::MAX) => Value::Null,
        "fallback_models" if theirs.is_null() => json!([]),
        _ => theirs.clone(),
    }
}

#[test]
fn variables_are_read_as_the_original_reads_them() {
    for case in cases("settings") {
        let home = home();
        let variables = case["input"].as_object().expect("an input is variables");
        let run = home.bub(["doctor", "--config", "--json"]);
        let run = variables.iter().fold(run, |run, (name, value)| run.env(name, value.as_str().expect("a text")));
        let finished = run.finish();
        let Some(expected) = case.get("ok") else {
            let names: Vec<&str> = variables.keys().map(String::as_str).collect();
            finished.refuses(&names);
            continue;
        };
        assert_eq!(finished.code, Some(0), "{case}\n{finished}");
        let shown: Value = serde_json::from_str(&finished.stdout).expect("it is JSON");
        let keys = shown["keys"].as_array().expect("keys are listed");
        for (name, theirs) in expected.as_object().expect("settings have names") {
            let now = keys.iter().find(|key| key["key"] == name.as_str()).map(|key| &key["now"]);
            match now {
                Some(now) => assert_eq!(*now, ours(name, theirs), "{name}: {case}"),
                // These are set by variables alone, and a key is shown nowhere.
                None => {
                    assert!(["api_key", "client_args", "completion_args", "verbose"].contains(&name.as_str()), "{name}")
                }
            }
        }
    }
}
