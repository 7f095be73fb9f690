//! The output of `doctor` and `plugin` about a home, and the daily budget of plugins.

use crate::home;
use bub_tests::{Answer, Finished, Home, Server, programs};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{finished}"))
}

/// The state of one finding of `doctor --json`, and its message.
#[track_caller]
fn finding(home: &Home, what: &str) -> (String, String) {
    let finished = home.bub(["doctor", "--json"]).finish();
    let all = json(&finished);
    let found = all["findings"].as_array().into_iter().flatten().find(|found| found["what"] == what);
    let found = found.unwrap_or_else(|| panic!("`{what}` is not among {all}"));
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("text"))
}

#[test]
fn a_new_home_is_well() {
    let finished = home().bub(["doctor"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.stdout.contains("ok    model `offline:demo`"), "{finished}");
    assert!(finished.stdout.contains("ok    engine: a pool of 256 instances"), "{finished}");
}

#[test]
fn limited_address_space_is_reported_as_a_missing_pool() {
    let finished = home().bub(["doctor"]).under("ulimit -v 4000000").finish();
    assert!(finished.stdout.contains("engine: instances on demand"), "{finished}");
}

#[test]
fn a_model_that_does_not_answer_is_wrong_and_one_that_does_is_well() {
    let home = home();
    home.configure("model = \"mine:some\"\napi_base = \"http://127.0.0.1:9/v1\"");
    assert_eq!(finding(&home, "model `mine:some`").0, "wrong");
    assert_eq!(home.bub(["doctor"]).finish().code, Some(1));
    let server = listing(r#"{"object": "list", "data": [{"id": "other"}, {"id": "some"}]}"#);
    home.configure(&format!("api_base = \"{}\"", server.base()));
    let (state, text) = finding(&home, "model `mine:some`");
    assert!(state == "ok" && text.ends_with("answers, and has it"), "{text}");
    assert_eq!(server.requests().len(), 1, "one question, and no tokens");
}

/// A model's server with that list, which knows none of its models by a page of its own.
fn listing(list: &'static str) -> Server {
    Server::ruled(move |request| match request.path.as_str() {
        "/v1/models" => Answer::Whole(200, "application/json", list.to_owned()),
        _ => Answer::Whole(404, "application/json", r#"{"error": {"message": "no"}}"#.to_owned()),
    })
}

/// The diagnostics for `mine:some-model` at that server.
#[track_caller]
fn model_at(server: &Server) -> (String, String) {
    let home = home();
    home.configure(&format!("model = \"mine:some-model\"\napi_base = \"{}\"", server.base()));
    finding(&home, "model `mine:some-model`")
}

#[test]
fn a_model_that_its_server_does_not_have_is_wrong_with_near_names() {
    for list in [
        r#"{"data": [{"id": "some-model-2"}, {"id": "unlike"}]}"#,
        r#"{"models": [{"name": "some-model-2"}, {"name": "unlike"}]}"#,
        r#"["some-model-2", "unlike"]"#,
    ] {
        let (state, text) = model_at(&listing(list));
        assert!(state == "wrong" && text.contains("the model is not among its 2 models"), "{text}");
        assert!(text.contains("near to it: `some-model-2`") && !text.contains("unlike"), "{text}");
    }
    // Names of strangers, for a terminal.
    let (_, text) = model_at(&listing(r#"{"data": [{"id": "some-model\u001b[2J"}]}"#));
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn an_alias_of_a_listed_model_is_accepted() {
    for list in [r#"{"data": [{"id": "models/some-model"}]}"#, r#"{"data": [{"id": "some-model:latest"}]}"#] {
        assert_eq!(model_at(&listing(list)).0, "ok", "{list}");
    }
    let server = Server::ruled(|request| match request.path.as_str() {
        "/v1/models" => Answer::Whole(200, "application/json", r#"{"data": [{"id": "dated"}]}"#.to_owned()),
        path => {
            assert_eq!(path, "/v1/models/some-model");
            Answer::Whole(200, "application/json", r#"{"id": "dated"}"#.to_owned())
        }
    });
    assert_eq!(model_at(&server).0, "ok");
}

#[test]
fn a_page_that_answers_everything_is_no_models_server() {
    for status in [200, 404] {
        let server = Server::ruled(move |_| Answer::Whole(status, "text/html", "<html>Welcome</html>".to_owned()));
        let (state, text) = model_at(&server);
        assert!(state == "wrong" && text.contains("is not a model server"), "{text}");
    }
    let server = Server::ruled(|_| Answer::Whole(200, "application/json", r#"{"status": "ok"}"#.to_owned()));
    assert_eq!(model_at(&server).0, "wrong", "JSON alone is not enough");
}

#[test]
fn a_server_that_lists_no_models_is_recognized_by_its_error() {
    let server = Server::ruled(|request| match request.method.as_str() {
        "GET" => Answer::Whole(404, "text/plain", "not found".to_owned()),
        _ => Answer::refusal("messages: must not be empty"),
    });
    let (state, text) = model_at(&server);
    assert!(state == "note" && text.contains("lists no models"), "{text}");
    assert_eq!(server.requests()[1].json()["messages"], serde_json::json!([]), "nothing is paid for");
    let server = Server::ruled(|request| match request.method.as_str() {
        "GET" => Answer::Whole(404, "text/plain", "not found".to_owned()),
        _ => Answer::Whole(404, "application/json", r#"{"error": {"message": "model `some-model` not found"}}"#.into()),
    });
    let (state, text) = model_at(&server);
    assert!(state == "wrong" && text.contains("does not have the model"), "{text}");
    let server = Server::ruled(|_| Answer::Whole(401, "application/json", r#"{"error": {}}"#.to_owned()));
    assert!(model_at(&server).1.contains("refuses the key"));
}

#[test]
fn a_granted_secret_that_does_not_exist_is_wrong() {
    let home = home();
    home.plugin("echo", programs::ECHO);
    home.configure("[plugins.echo]\nfollow = true\ngrants = [\"hook:run-model\", \"secret:weather\"]");
    let finished = home.bub(["doctor"]).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let line = "wrong plugin `echo`: is granted secret `weather`, which does not exist; bub-wasm secret set weather --host HOST";
    assert!(finished.stdout.contains(line), "{finished}");
    let finished = home.bub(["doctor"]).env("BUB_SECRET_WEATHER", "sunny-sunny").finish();
    assert!(!finished.stdout.contains("does not exist"), "{finished}");
}

#[test]
fn a_table_of_a_plugin_that_is_not_there_is_noted() {
    let home = home();
    home.configure("[plugins.memroy.config]\nretention_days = 3\n[plugins.web]\nenabled = false");
    let (state, text) = finding(&home, "`[plugins.memroy]`");
    assert!(state == "note" && text.contains("did you mean `memory`"), "{text}");
    let finished = home.bub(["doctor"]).finish();
    assert!(!finished.stdout.contains("[plugins.web]"), "{finished}");
}

#[test]
fn a_plugin_whose_file_has_another_name_than_its_manifest_is_noted() {
    let home = home();
    home.plugin("parrot", programs::ECHO);
    let finished = home.bub(["doctor"]).finish();
    let line = "note  plugin `parrot`: calls itself `echo` in its manifest; it is known by its file's name";
    assert!(finished.stdout.contains(line), "{finished}");
}

#[test]
fn a_plugin_without_its_hook_grant_is_noted_with_the_command() {
    let home = home().strict();
    home.plugin("echo", programs::ECHO);
    let (state, text) = finding(&home, "plugin `echo`");
    assert_eq!((state.as_str(), text.as_str()), ("note", "is not asked; bub-wasm plugin grant echo hook:run-model"));
    home.bub(["plugin", "grant", "echo"]).finish();
    assert_eq!(finding(&home, "plugin `echo`").0, "ok");
    let inspected = json(&home.bub(["plugin", "inspect", "echo", "--json"]).finish());
    assert_eq!(inspected["version"], "0.1.0", "{inspected}");
    assert_eq!(inspected["wants"][0]["grant"], "hook:run-model", "{inspected}");
    assert_eq!(inspected["wants"][0]["held"], true, "{inspected}");
}

#[test]
fn a_file_that_others_can_read_is_noted_and_bubs_own_configuration_is_not_read() {
    let home = home();
    fs::write(home.bub_home().join(".env"), "BUB_MAX_STEPS=3\n").expect("a file");
    fs::set_permissions(home.bub_home().join(".env"), fs::Permissions::from_mode(0o644)).expect("it is ours");
    fs::write(home.bub_home().join("config.yml"), "model: x\n").expect("a file");
    let (state, text) = finding(&home, ".env");
    assert!(state == "note" && text.contains("chmod 600"), "{text}");
    assert_eq!(finding(&home, "config.yml").0, "note");
}

#[test]
fn every_key_of_the_configuration_is_shown_with_default_and_current_value() {
    let home = home();
    home.configure("max_tokens = 99");
    let shown = json(&home.bub(["doctor", "--config", "--json"]).finish());
    let keys: Vec<&Value> = shown["keys"].as_array().into_iter().flatten().collect();
    let row = keys.iter().find(|row| row["key"] == "max_tokens").expect("it is a key");
    assert_eq!((&row["default"], &row["now"]), (&Value::from(16_384), &Value::from(99)));
    for key in ["plugins.NAME.daily_tokens", "limits.fuel", "channels.NAME.tools", "trusted_workspaces"] {
        assert!(keys.iter().any(|row| row["key"] == key), "`{key}` is missing");
    }
}

#[test]
fn a_plugin_spends_no_more_than_its_day_allows() {
    let home = home();
    home.configure("[plugins.caller]\ngrants = [\"model:*\"]\ndaily_tokens = 10\nconfig = { call = {} }");
    home.plugin("caller", programs::CALLER);
    // An answer that says what it cost: 978 tokens.
    let recorded = include_str!("../golden/plain/http/001.response.txt");
    let server = Server::new([Answer::recorded(recorded), Answer::recorded(recorded)]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nHello from fake model.\n");
    let second = home.run(["hi"]).model(&server).finish();
    assert!(second.stdout.contains("may spend 10"), "{second}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn damaged_tapes_are_named_with_their_damage() {
    let home = home();
    home.run(["ECHO:a"]).finish().says("[cli:local]\na\n");
    assert_eq!(finding(&home, "tapes").0, "ok");
    let tape = home.tape_file("cli:local");
    let mut bytes = std::fs::read(&tape).expect("the tape is there");
    bytes.extend(b"\xff\xfe no entry\n{\"id\": 99, \"kind\": \"ev");
    std::fs::write(&tape, bytes).expect("it can be written");
    home.run(["ECHO:b"]).finish().says("[cli:local]\nb\n");
    let (state, text) = finding(&home, "tapes");
    assert_eq!(state, "note", "{text}");
    for word in ["1 unreadable line", "set aside", "tape verify"] {
        assert!(text.contains(word), "{text}");
    }
}
