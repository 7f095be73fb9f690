//! The behavior of a plugin of each kind, in any language: `guests/templates/README.md` has the table.

use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Home, Server};
use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::Duration;

/// The requests to the model in a turn.
fn turn(home: &Home, message: &str, answers: impl IntoIterator<Item = Answer>) -> Vec<Value> {
    let server = Server::new(answers);
    home.run([message]).model(&server).finish().answers();
    server.requests().iter().map(|request| request.json()).collect()
}

/// The result of the last tool call, as the model reads it.
fn result(requests: &[Value]) -> String {
    let messages = requests[1]["messages"].as_array().expect("a list");
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("the call has a result");
    result["content"].as_str().unwrap_or_default().to_owned()
}

/// The tool counts words.
#[track_caller]
pub(crate) fn counts(home: &Home, tool: &str) {
    let call = Answer::tool_call(tool, r#"{"text": "to be or not"}"#);
    let said: Value = serde_json::from_str(&result(&turn(home, "count", [call, Answer::text("4")]))).expect("JSON");
    assert_eq!((&said["count"], &said["unit"]), (&json!(4), &json!("words")), "{said}");
}

/// The system prompt gets the rules of the configuration.
#[track_caller]
pub(crate) fn adds_rules(home: &Home) {
    let requests = turn(home, "hello", [Answer::text("hello")]);
    let system = requests[0]["messages"][0]["content"].as_str().unwrap_or_default();
    assert!(system.contains("Follow these rules:\n- Answer in plain English."), "{system}");
}

/// The model sees the exchange before the current turn, and of the current turn all, but nothing that is older.
#[track_caller]
pub(crate) fn selects_the_last_exchange(home: &Home, name: &str) {
    home.configure(&format!("selector = \"{name}\"\n[plugins.{name}.config]\nturns = 1\n"));
    for word in ["aardvark", "buffalo"] {
        turn(home, word, [Answer::text("yes")]);
    }
    let requests = turn(home, "chinchilla", [Answer::tool_call("tape_anchors", "{}"), Answer::text("yes")]);
    assert_eq!(requests.len(), 2);
    for request in &requests {
        let request = request["messages"].to_string();
        assert!(request.contains("buffalo") && !request.contains("aardvark"), "{request}");
        assert_eq!(request.matches("chinchilla").count(), 1, "{request}");
    }
    assert!(result(&requests).contains("session/start"));
    let tape = fs::read_to_string(home.tape_file("cli:local")).expect("it is kept");
    assert!(!tape.contains("selector.fallback"), "{tape}");
}

/// A call with a blocked text in its arguments is denied, and another one is not.
#[track_caller]
pub(crate) fn denies_blocked_commands(home: &Home) {
    for (command, is_denied) in [("sudo ls", true), ("ls", false)] {
        let call = Answer::tool_call("bash", &json!({ "cmd": command }).to_string());
        let said = result(&turn(home, "list", [call, Answer::text("done")]));
        assert_eq!(said.contains("`bash` is not called with `sudo ` in its arguments"), is_denied, "{said}");
    }
}

/// The provider answers what its configuration says, and else repeats the question.
#[track_caller]
pub(crate) fn answers_as_a_model(home: &Home, name: &str) {
    home.configure(&format!("[plugins.{name}.config.answers]\nping = \"pong\"\n"));
    let model = format!("{name}:canned");
    home.run(["ping", "--model", &model]).finish().says("[cli:local]\npong\n");
    home.run(["hello", "--model", &model]).finish().says("[cli:local]\nYou said: hello\n");
}

/// The conversation is in files of the workspace, and the next turn reads it there.
#[track_caller]
pub(crate) fn keeps_the_conversation(home: &Home, name: &str) {
    turn(home, "remember the teapot", [Answer::text("yes")]);
    let folder = home.workspace().join(format!("{name}-tapes"));
    let texts: String = fs::read_dir(folder)
        .expect("it was made")
        .map(|file| fs::read_to_string(file.expect("a file").path()).expect("it is text"))
        .collect();
    assert!(texts.contains("remember the teapot"), "{texts}");
    let second = turn(home, "and", [Answer::text("yes")]).remove(0).to_string();
    assert!(second.contains("remember the teapot"), "{second}");
}

/// A posted body becomes a message, and the answer is posted to the configured address.
#[track_caller]
pub(crate) fn takes_a_message_and_posts_the_answer(home: Home, name: &str) {
    let taker = Listener::new(|_| response(200, "", ""));
    let base = taker.base();
    home.configure(&format!(
        "[plugins.{name}]\nfollow = true\ngrants = [\"hook:channel\", \"http:{base}\"]\n\
         [plugins.{name}.config]\nurl = \"{base}/answers\"\n"
    ));
    let served = home.served();
    let post = |body: &Value| served.serve.strange("POST", &format!("/channels/{name}")).json(body).send();
    assert_eq!(post(&json!({ "text": "no id" })).status, 400);
    let posted = post(&json!({ "id": "1", "text": "hi there", "chat": "a" }));
    assert_eq!(posted.status, 202, "{}", posted.body);
    while taker.heard().iter().all(String::is_empty) {
        thread::sleep(Duration::from_millis(10));
    }
    let answer = &taker.heard()[0];
    assert!(answer.starts_with("POST /answers") && answer.contains("hi there"), "{answer}");
    assert!(answer.to_lowercase().contains("idempotency-key: "), "{answer}");
}
