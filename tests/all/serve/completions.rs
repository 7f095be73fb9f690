//! The agent as a model of OpenAI's.

use super::{echo, last_line, serve};
use crate::home;
use bub_tests::{Answer, Server, programs};
use serde_json::{Value, json};

const PATH: &str = "/v1/chat/completions";

fn said(content: &str) -> Value {
    json!({ "model": "bub", "messages": [{ "role": "user", "content": content }] })
}

#[test]
fn a_completion_is_a_turn_of_the_agent() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let answer = serve.post(PATH, &said("hello"));
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "bub");
    assert_eq!(answer["choices"][0]["message"]["content"], "you said: hello");
    assert_eq!(answer["choices"][0]["message"]["role"], "assistant");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert!(answer["usage"]["total_tokens"].is_u64());
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
}

#[test]
fn a_session_by_header_or_by_user_is_the_history_and_the_clients_is_passed_over() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let mut request = said("first");
    request["user"] = "ada".into();
    let first = serve.ask("POST", PATH).json(&request).send();
    assert_eq!(first.header("x-session-id"), Some("http:ada"));
    request["messages"] = json!([
        { "role": "system", "content": "you are a pirate" },
        { "role": "user", "content": "something that was never said" },
        { "role": "assistant", "content": "and its answer" },
        { "role": "user", "content": "second" },
    ]);
    serve.post(PATH, &request);
    let named = serve.ask("POST", PATH).header("x-session-id", "http:ada").json(&said("third")).send();
    assert_eq!(named.ok()["choices"][0]["message"]["content"], "you said: third");
    let asked = model.requests()[2].messages();
    let told: Vec<&str> = asked.iter().skip(1).map(|message| last_line(message["content"].as_str().unwrap())).collect();
    assert_eq!(told, ["first", "you said: first", "second", "you said: second", "third"]);
}

#[test]
fn without_a_session_the_earlier_messages_are_sent_along_and_nothing_is_kept() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let request = json!({ "messages": [
        { "role": "system", "content": "answer in French" },
        { "role": "user", "content": [{ "type": "text", "text": "look" }, { "type": "image_url", "image_url": { "url": "https://example.com/a.png" } }] },
        { "role": "assistant", "content": "a cat" },
        { "role": "user", "content": "what color" },
    ] });
    let answer = serve.ask("POST", PATH).json(&request).send();
    assert_eq!(answer.ok()["choices"][0]["message"]["content"], "you said: what color");
    assert_eq!(answer.header("x-session-id"), None);
    let asked = model.requests()[0].messages();
    let told: Vec<(&str, &str)> = asked
        .iter()
        .skip(1)
        .map(|message| (message["role"].as_str().unwrap(), message["content"].as_str().unwrap()))
        .collect();
    assert_eq!(told[0], ("user", "[instructions of the client]\nanswer in French"));
    assert_eq!(told[1], ("user", "look\n[image]"));
    assert_eq!(told[2], ("assistant", "a cat"));
    assert!(told[3].1.ends_with("what color"), "{told:?}");
    assert_eq!(serve.get("/v1/sessions")["sessions"], json!([]));
    assert_eq!(serve.get("/v1/tapes")["names"], json!([]));
}

#[test]
fn a_streamed_answer_comes_in_chunks_with_its_usage_at_the_end() {
    let home = home();
    let model = Server::new([Answer::counted("hello there", 7)]);
    let serve = serve(&home, &model);
    let mut request = said("hi");
    request["stream"] = true.into();
    request["stream_options"] = json!({ "include_usage": true });
    let answer = serve.ask("POST", PATH).json(&request).send();
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.events();
    let (last, chunks) = events.split_last().unwrap();
    assert_eq!(last.1, "[DONE]");
    let chunks: Vec<Value> = chunks.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk" && chunk["id"] == chunks[0]["id"]));
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "hello there");
    let counted = chunks.last().unwrap();
    assert_eq!((&counted["choices"], &counted["usage"]["prompt_tokens"]), (&json!([]), &json!(7)));
    assert_eq!(chunks[chunks.len() - 2]["choices"][0]["finish_reason"], "stop");
}

#[test]
fn a_command_of_the_owner_is_answered_in_a_stream_too() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let mut request = said(",help");
    request["stream"] = true.into();
    let events = serve.ask("POST", PATH).json(&request).send().events();
    let text: String = events
        .iter()
        .filter_map(|(_, data)| serde_json::from_str::<Value>(data).ok())
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert!(text.contains(",help"), "{text}");
    assert!(model.requests().is_empty());
}

#[test]
fn the_agent_runs_its_own_tools_for_a_completion() {
    let home = home();
    std::fs::write(home.workspace().join("note.txt"), "the word is heron").unwrap();
    let model = Server::new([Answer::tool_call("fs_read", r#"{"path": "note.txt"}"#), Answer::text("heron")]);
    home.plugin("odd_tools", programs::ODD_TOOLS);
    let serve = serve(&home, &model);
    let answer = serve.post(PATH, &said("which word"));
    assert_eq!(answer["choices"][0]["message"]["content"], "heron");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    let asked = model.requests()[1].messages();
    let result = asked.iter().find(|message| message["role"] == "tool").expect("the tool has run");
    assert!(result["content"].as_str().unwrap().contains("heron"), "{result}");
}

#[test]
fn pictures_and_sounds_reach_the_model() {
    let home = home();
    let model = Server::new([Answer::text("a dot")]);
    let serve = serve(&home, &model);
    // One transparent pixel.
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let url = format!("data:image/png;base64,{pixel}");
    let request = json!({ "messages": [{ "role": "user", "content": [
        { "type": "text", "text": "what is this" },
        { "type": "image_url", "image_url": { "url": url } },
    ] }] });
    serve.post(PATH, &request);
    assert!(model.requests()[0].body.contains(pixel));
}

#[test]
fn unsupported_options_are_rejected_in_one_line() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let with = |key: &str, value: Value| {
        let mut request = said("hi");
        request[key] = value;
        serve.ask("POST", PATH).json(&request).send()
    };
    let tools = with("tools", json!([{ "type": "function", "function": { "name": "f" } }]));
    assert_eq!(tools.refused(400, "its own tools").json()["error"]["param"], "tools");
    with("n", json!(2)).refused(400, "`n` must be 1");
    with("response_format", json!({ "type": "json_object" })).refused(400, "response_format");
    with("messages", json!([])).refused(400, "the last message");
    with("messages", json!([{ "role": "assistant", "content": "hi" }])).refused(400, "the last message");
    with("messages", json!([{ "role": "tool", "content": "hi" }])).refused(400, "role `tool`");
    let film = json!([{ "role": "user", "content": [{ "type": "film", "film": {} }] }]);
    with("messages", film).refused(400, "`film`");
    let unknown = with("model", json!("gpt-of-nobody"));
    assert_eq!(unknown.refused(404, "gpt-of-nobody").json()["error"]["code"], "model_not_found");
    let keyed = serve.ask("POST", PATH).header("idempotency-key", "k").json(&said("hi")).send();
    keyed.refused(400, "needs a session");
    serve.ask("POST", PATH).header("x-session-id", "temp/mine").json(&said("hi")).send().refused(400, "temp/");
    assert!(model.requests().is_empty(), "no request reached the model");
}

#[test]
fn a_turn_that_fails_is_an_error_that_clients_do_not_repeat() {
    let home = home();
    let model = Server::ruled(|_| Answer::refusal("the model is cross"));
    let serve = serve(&home, &model);
    let failed = serve.ask("POST", PATH).json(&said("hi")).send();
    failed.refused(500, "the model is cross");
    assert_eq!(failed.header("x-should-retry"), Some("false"));
    let mut request = said("hi");
    request["stream"] = true.into();
    let events = serve.ask("POST", PATH).json(&request).send().events();
    let last: Value = serde_json::from_str(&events.last().unwrap().1).unwrap();
    assert!(last["error"]["message"].as_str().unwrap().contains("the model is cross"), "{events:?}");
}

#[test]
fn models_are_listed_and_can_be_requested_by_name() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let models = serve.get("/v1/models");
    let names: Vec<&str> = models["data"].as_array().unwrap().iter().filter_map(|model| model["id"].as_str()).collect();
    assert_eq!(names[..2], ["bub", "openai:fake-model"]);
    assert_eq!(serve.get("/v1/models/openai:fake-model")["object"], "model");
    serve.ask("GET", "/v1/models/none").send().refused(404, "`none`");
    let mut request = said("hi");
    request["model"] = "openai:fake-model".into();
    assert_eq!(serve.post(PATH, &request)["model"], "openai:fake-model");
    assert_eq!(model.requests()[0].json()["model"], "fake-model");
}
