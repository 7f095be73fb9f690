//! The output of `run`.

use super::{home, plain, trusting, untrusted};
use bub_tests::{Answer, Server, programs};
use serde_json::Value;

fn object(stdout: &str) -> Value {
    assert_eq!(stdout.lines().count(), 1, "one object on one line: {stdout}");
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[test]
fn the_answer_is_printed_alone() {
    plain(&home(), &["ECHO:hi"]).finish().says("hi\n");
}

#[test]
fn the_option_and_the_variable_choose_the_form_and_the_option_wins() {
    let home = home();
    plain(&home, &["ECHO:hi", "--format", "bub"]).finish().says("[cli:local]\nhi\n");
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    home.run(["ECHO:hi", "--format", "text"]).finish().says("hi\n");
    let told = home.run(["ECHO:hi"]).env("BUB_FORMAT", "json").finish();
    assert_eq!(object(&told.stdout)["answer"], "hi", "{told}");
    home.run(["hi"]).env("BUB_FORMAT", "xml").finish().refuses(&["BUB_FORMAT", "`xml`", "`text`, `bub`, `json`"]);
    assert_eq!(home.run(["hi", "--format", "xml"]).finish().code, Some(2));
    assert_eq!(home.run(["hi", "--json", "--format", "text"]).finish().code, Some(2));
}

#[test]
fn json_is_one_object_with_all_its_fields() {
    let home = trusting();
    let server = Server::new([
        Answer::tool_call("bash", "{\"cmd\": \"echo \\u001b[2J\"}"),
        Answer::counted("fine \u{1b}]0;x\u{7} \u{202e}\nmore", 7),
    ]);
    let finished = plain(&home, &["go on", "--json"]).model(&server).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.stdout.trim_end().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{finished}");
    let told = object(&finished.stdout);
    let keys: Vec<&String> = told.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["session", "answer", "error", "usage", "tools", "denied", "exit_code"]);
    assert_eq!(told["session"], "cli:local");
    assert!(told["answer"].as_str().is_some_and(|text| text.contains("fine \u{1b}]0;x\u{7} \u{202e}\nmore")), "{told}");
    assert_eq!(told["error"], Value::Null);
    assert!(told["usage"]["total_tokens"].as_u64().is_some_and(|tokens| tokens >= 7), "{told}");
    assert_eq!(told["tools"][0]["name"], "bash");
    assert_eq!(told["tools"][0]["arguments"], "{\"cmd\": \"echo \\u001b[2J\"}");
    assert_eq!(told["tools"][0]["error"], Value::Null);
    assert_eq!((&told["denied"], &told["exit_code"]), (&Value::Array(Vec::new()), &0.into()));
}

#[test]
fn json_reports_failures_and_denied_calls() {
    let home = home();
    let server =
        Server::new([Answer::Whole(401, "application/json", "{\"error\": {\"message\": \"bad key\"}}".into())]);
    let finished = plain(&home, &["hi", "--json"]).model(&server).finish();
    let told = object(&finished.stdout);
    assert_eq!((finished.code, &told["exit_code"]), (Some(1), &1.into()), "{finished}");
    assert_eq!((&told["answer"], &told["error"]["kind"]), (&Value::Null, &"provider".into()), "{told}");
    assert!(told["error"]["message"].as_str().is_some_and(|text| text.contains("the key is refused")), "{told}");

    let home = untrusted();
    plain(&home, &["TOOL:fs.read {\"path\": \"notes.txt\"}"]).finish();
    let finished = plain(&home, &["TOOL:fs.write {\"path\": \"x\", \"content\": \"y\"}", "--json"]).finish();
    let told = object(&finished.stdout);
    assert_eq!((finished.code, &told["exit_code"]), (Some(3), &3.into()), "{finished}");
    assert_eq!((&told["denied"][0]["tool"], &told["denied"][0]["effect"]), (&"fs.write".into(), &"write".into()));
    assert!(told["tools"][0]["error"].as_str().is_some_and(|text| text.contains("needs the owner's word")), "{told}");
}

#[test]
fn a_model_is_named_for_one_turn() {
    let home = home();
    let server = Server::new([Answer::text("from the other"), Answer::text("from the usual")]);
    plain(&home, &["hi", "-m", "openai:other-model"]).model(&server).finish().says("from the other\n");
    plain(&home, &["hi"]).model(&server).finish().says("from the usual\n");
    let asked: Vec<Value> = server.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(asked, ["other-model", "fake-model"]);
    // The option goes before the session's choice, and does not change it.
    let server = Server::new([Answer::text("a"), Answer::text("b")]);
    plain(&home, &[",model openai:chosen"]).model(&server).finish();
    plain(&home, &["hi", "--model", "openai:named"]).model(&server).finish().says("a\n");
    plain(&home, &["hi"]).model(&server).finish().says("b\n");
    let asked: Vec<Value> = server.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(asked, ["named", "chosen"]);
    plain(&home, &["hi", "-m", "nope"]).finish().refuses(&["`nope`", "provider:model"]);
}

#[test]
fn an_error_of_a_plugin_is_printed_on_one_line() {
    let home = home();
    home.scripted("a", programs::SCRIPTED, "run-model = { error = \"no\\n\\u001b[2Jthoughts\" }");
    let finished = plain(&home, &["hi"]).finish();
    assert_eq!((finished.code, finished.stderr.lines().count()), (Some(1), 1), "{finished}");
    assert!(!finished.stderr.contains('\u{1b}'), "{finished}");
}
