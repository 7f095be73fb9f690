//! `plugin record` keeps calls of real turns, and `plugin test` makes them again without what they talked to.

use crate::home;
use crate::plugin_test::{project, test};
use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Finished, Home, Server, programs};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const KEY: &str = "w34ther-key-of-the-test";
const FIXTURE: &str = "fixtures/call-tool-weather-1.json";

/// A home with the weather tool, in its project, and a call of it that was recorded.
fn recorded() -> (Home, Finished) {
    let service = Listener::new(|_| response(200, "", r#"[{"date":"1 May","sky":"clear","high":21.5,"low":9}]"#));
    let home = home();
    home.plugin("weather", programs::WEATHER);
    let base = service.base();
    home.configure(&format!(
        "[plugins.weather]\ngrants = [\"hook:system-prompt\", \"http:{base}\", \"secret:weather\"]\n\
         [plugins.weather.config]\nserver = \"{base}\"\nhome = \"Bern\"\n"
    ));
    let secrets = home.bub_home().join("secrets.toml");
    fs::write(&secrets, format!("[weather]\nvalue = \"{KEY}\"\nhosts = [\"127.0.0.1\"]\n")).expect("a file");
    fs::set_permissions(secrets, fs::Permissions::from_mode(0o600)).expect("it is ours");
    project(&home, "weather", programs::WEATHER);
    // The check of `test` needs it too.
    let file = home.workspace().join("bub-plugin.toml");
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, format!("config = \"example.toml\"\n{text}")).expect("a file");
    fs::write(home.workspace().join("example.toml"), "[plugins.weather.config]\nserver = \"https://a.org\"\n")
        .expect("a file");
    let call = Answer::tool_call("weather", r#"{"city":"La Paz"}"#);
    // The secret is in the conversation too: the user has typed it.
    let server = Server::new([call, Answer::text("clear")]);
    let message = format!("how is it? my key is {KEY}");
    let record = home.bub(["plugin", "record", "weather", &message, "--allow", "send"]).model(&server).finish();
    (home, record)
}

fn fixture(home: &Home) -> PathBuf {
    home.workspace().join(FIXTURE)
}

fn read(home: &Home) -> Value {
    serde_json::from_str(&fs::read_to_string(fixture(home)).expect("it was recorded")).expect("it is JSON")
}

fn write(home: &Home, value: &Value) {
    fs::write(fixture(home), format!("{value:#}")).expect("the workspace can be written");
}

#[test]
fn a_call_is_recorded_with_the_answers_of_the_host_and_without_secrets() {
    let (home, record) = recorded();
    assert!(record.code == Some(0) && record.stdout.contains(&format!("{FIXTURE}: ")), "{record}");
    let call = read(&home);
    assert_eq!(call["call"], "call-tool");
    assert_eq!(call["arguments"], json!(["weather", r#"{"city":"La Paz"}"#]));
    assert!(call["answer"]["ok"].as_str().is_some_and(|answer| answer.contains("clear")), "{call}");
    let functions: Vec<&str> =
        call["imports"].as_array().expect("a list").iter().filter_map(|import| import["function"].as_str()).collect();
    assert!(functions.contains(&"bub:plugin/config.get") && functions.contains(&"bub:plugin/secrets.placeholder"));
    let request = call["imports"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|import| import["function"] == "wasi:http/outgoing-handler.handle");
    let request = &request.expect("a request was sent")["arguments"][0];
    assert!(request["url"].as_str().is_some_and(|url| url.contains("/forecast?city=La%20Paz")), "{request}");
    assert!(request["headers"].to_string().contains("{{secret:weather}}"), "{request}");
    for file in fs::read_dir(home.workspace().join("fixtures")).expect("a folder") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("it is text");
        assert!(!text.contains(KEY) && !text.contains(home.workspace().to_str().expect("UTF-8")), "{text}");
    }
}

#[test]
fn a_recorded_call_is_made_again_without_the_server_and_its_difference_is_shown_and_accepted() {
    let (home, _) = recorded();
    let tested = test(&home);
    assert!(tested.code == Some(0) && tested.stdout.contains("do the same as before"), "{tested}");
    // As if the build of then had answered otherwise.
    let mut call = read(&home);
    call["answer"]["ok"] = "[]".into();
    write(&home, &call);
    let tested = test(&home);
    assert_eq!(tested.code, Some(1), "{tested}");
    for words in [
        "calls  failed  fixtures/call-tool-weather-1.json differs",
        "plugin test --update",
        "-     \"ok\": \"[]\"",
        "clear",
    ] {
        assert!(tested.stdout.contains(words), "{words}\n{tested}");
    }
    let updated = home.bub(["plugin", "test", "--update"]).finish();
    assert!(updated.code == Some(0) && updated.stdout.contains("was updated"), "{updated}");
    assert_eq!(test(&home).code, Some(0));
    assert!(read(&home)["answer"]["ok"].as_str().is_some_and(|answer| answer.contains("clear")));
}

#[test]
fn an_import_that_is_called_otherwise_is_a_difference_and_one_without_an_answer_is_named() {
    let (home, _) = recorded();
    let mut call = read(&home);
    let imports = call["imports"].as_array_mut().expect("a list");
    let request = imports.iter_mut().find(|import| import["function"] == "wasi:http/outgoing-handler.handle");
    request.expect("a request was sent")["arguments"][0]["method"] = "POST".into();
    write(&home, &call);
    let tested = test(&home);
    assert!(tested.code == Some(1) && tested.stdout.contains("-           \"method\": \"POST\""), "{tested}");
    call["imports"]
        .as_array_mut()
        .expect("a list")
        .retain(|import| import["function"] != "bub:plugin/secrets.placeholder");
    write(&home, &call);
    let tested = test(&home);
    // The difference is wrapped at the width of a page.
    let words = "trapped: it calls `bub:plugin/secrets.placeholder`, and the";
    assert!(tested.code == Some(1) && tested.stdout.contains(words), "{tested}");
}

#[test]
fn the_same_call_is_recorded_once() {
    let home = home();
    home.plugin("upper", programs::PROMPT_UPPER);
    let record = || {
        let server = Server::new([Answer::text("hello")]);
        home.bub(["plugin", "record", "upper", "hi"]).model(&server).finish()
    };
    let first = record();
    assert!(first.code == Some(0) && first.stdout.contains("fixtures/build-prompt-1.json"), "{first}");
    let again = record();
    assert!(again.code == Some(1) && again.stdout.contains("the same call is recorded already"), "{again}");
    assert_eq!(fs::read_dir(home.workspace().join("fixtures")).expect("a folder").count(), 1);
}

#[test]
fn a_hook_that_only_reads_its_view_is_recorded_and_made_again() {
    let home = home();
    home.plugin("window", programs::WINDOW);
    home.configure("selector = \"window\"\n[plugins.window]\ngrants = [\"hook:selector\"]\n");
    project(&home, "window", programs::WINDOW);
    let server = Server::new([Answer::text("one"), Answer::text("two")]);
    let record = home.bub(["plugin", "record", "window", "first", "second"]).model(&server).finish();
    assert!(record.code == Some(0) && record.stdout.contains("selector-2.json"), "{record}");
    let tested = test(&home);
    assert!(tested.code == Some(0) && tested.stdout.contains("2 recorded calls do the same"), "{tested}");
}

#[test]
fn lines_of_standard_input_are_turns() {
    let (home, _) = recorded();
    fs::remove_dir_all(home.workspace().join("fixtures")).expect("it is there");
    let server = Server::new([Answer::text("hello"), Answer::text("hello")]);
    let record = home.bub(["plugin", "record", "weather", "--into", "elsewhere"]).input("hi\n\nthere\n").model(&server);
    let record = record.finish();
    assert!(record.code == Some(0) && record.stdout.contains("elsewhere/system-prompt-1.json"), "{record}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_recorded_call_that_is_wrong_is_named_in_one_line() {
    let (home, _) = recorded();
    let good = read(&home);
    let with = |key: &str, value: Value| {
        let mut call = good.clone();
        call[key] = value;
        call.to_string()
    };
    for (text, what) in [
        ("{".to_owned(), "it is no JSON"),
        ("[]".to_owned(), "its `format` is `null`"),
        (with("format", 2.into()), "its `format` is `2`, and this program reads 1"),
        (with("plugin", "other".into()), "it is a call of plugin `other`, not of `weather`"),
        (with("plugin", "a\u{1b}[31mb".into()), "it is a call of plugin `a"),
        (with("call", "nothing".into()), "calls of `nothing` cannot be made again"),
        (with("call", "store".into()), "calls of `store` cannot be made again"),
        (with("surplus", 1.into()), "unknown field `surplus`"),
        (with("arguments", 1.into()), "what the call was given is not understood"),
        (with("turn", json!({ "a": 1 })), "its `turn` is not understood"),
        (format!("{}{}", "[".repeat(5_000), "]".repeat(5_000)), "nest"),
        (" ".repeat(5 << 20), "larger than 4 MiB"),
    ] {
        fs::write(fixture(&home), text).expect("the workspace can be written");
        let tested = test(&home);
        let line = tested.stdout.lines().find(|line| line.contains("call-tool-weather-1.json: "));
        assert!(tested.code == Some(1) && line.is_some_and(|line| line.contains(what)), "{what}\n{tested}");
        assert!(!tested.stdout.contains('\u{1b}'), "{tested}");
    }
}

#[test]
fn a_plugin_that_is_not_there_or_another_project_is_refused() {
    let (home, _) = recorded();
    home.bub(["plugin", "record", "wether", "hi"]).finish().refuses(&["the project here is that of plugin `weather`"]);
    home.bub(["plugin", "record", "wether", "hi", "--into", "x"])
        .finish()
        .refuses(&["there is no plugin `wether`; did you mean `weather`"]);
    assert!(!home.workspace().join("x").exists());
    home.remove_plugin("weather");
    home.bub(["plugin", "record", "weather", "hi"])
        .finish()
        .refuses(&["there is no plugin `weather`; to add that of this project: bub-wasm plugin add plugin.wasm"]);
}

#[test]
fn a_plugin_without_its_grants_records_nothing_and_the_command_that_gives_them_is_named() {
    let home = home().strict();
    home.plugin("window", programs::WINDOW);
    home.configure("[plugins.window]\ngrants = []\n");
    let server = Server::new([Answer::text("hello")]);
    let record = home.bub(["plugin", "record", "window", "hi"]).model(&server).finish();
    assert_eq!(record.code, Some(1), "{record}");
    let words = "no call of plugin `window` was recorded: it does not hold all that it asks for; \
                 to give it: bub-wasm plugin grant window hook:selector";
    assert!(record.stdout.contains(words), "{record}");
}
