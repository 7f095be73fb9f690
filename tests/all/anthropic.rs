//! The whole program, with Anthropic as its provider.

use serde_json::{Value, json};

use bub_tests::{Answer, Home, Run, Server, programs, tape};

use crate::home;
use bub_test_support::anthropic::{call, stream, words};

fn events(events: &[Value]) -> Answer {
    Answer::Whole(200, "text/event-stream", stream(events))
}

fn run<'home>(home: &'home Home, server: &Server) -> Run<'home> {
    home.run(["go on"])
        .env("BUB_MODEL", "anthropic:fake")
        .env("BUB_ANTHROPIC_API_KEY", "sk-ant-fake")
        .env("BUB_ANTHROPIC_API_BASE", server.base())
}

#[test]
fn a_tool_is_called_and_its_result_sent_back() {
    let home = home();
    home.configure("[plugins.odd_tools]\ngrants = [\"tools:*\"]");
    home.plugin("odd_tools", programs::ODD_TOOLS);
    let server = Server::new([events(&call("toolu_1", "plain", &["{", "}"])), events(&words("done"))]);
    run(&home, &server).finish().says("[cli:local]\ndone\n");

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[0].path.as_str(), requests[0].header("x-api-key")), ("/v1/messages", Some("sk-ant-fake")));
    let tools = requests[0].json()["tools"].clone();
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["name"] == "plain"), "{tools}");
    let messages = requests[1].messages();
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(messages[1]["content"], json!([{"type": "tool_use", "id": "toolu_1", "name": "plain", "input": {}}]));
    let result = &messages[2]["content"][0];
    assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("toolu_1")));
    assert!(result["content"][0]["text"].as_str().unwrap().contains("`plain` was called"), "{result}");

    let written: Vec<Value> = tape::of_home(&home).into_values().flatten().collect();
    let usage = json!({
        "completion_tokens": 25, "prompt_tokens": 3210, "total_tokens": 3235,
        "prompt_tokens_details": {"cached_tokens": 3000, "cache_creation_tokens": 200},
    });
    let counted = written.iter().filter(|entry| entry["payload"]["data"]["usage"] == usage).count();
    assert_eq!(counted, 2, "{written:#?}");
}

#[test]
fn an_overloaded_provider_is_retried_before_its_fallback() {
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).to_string();
    let busy = Answer::Whole(529, "application/json", body);
    let anthropic = Server::new([busy.clone(), busy.clone(), busy]);
    let openai = Server::new([Answer::text("hello")]);
    let home = home();
    run(&home, &anthropic)
        .env("BUB_RETRY_BASE_MS", "1")
        .env("BUB_FALLBACK_MODELS", r#"["openai:fake"]"#)
        .env("BUB_OPENAI_API_KEY", "sk-fake")
        .env("BUB_OPENAI_API_BASE", openai.base())
        .finish()
        .says("[cli:local]\nhello\n");
    assert_eq!((anthropic.requests().len(), openai.requests().len()), (3, 1));
    assert_eq!(openai.requests()[0].path, "/v1/chat/completions");
}

#[test]
fn a_refusal_ends_the_turn_with_the_providers_message() {
    let body = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    let server = Server::new([Answer::Whole(401, "application/json", body.to_string())]);
    run(&home(), &server).finish().fails("model `anthropic:fake`: the server answered 401: invalid x-api-key");
}
