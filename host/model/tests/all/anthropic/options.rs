//! Conversion of options.

use serde_json::{Value, json};

use bub_model::{ErrorKind, Request};

use super::super::error_of;
use super::{Server, asked, body_of, events, settings, tool, words};

/// The fields in the body for `model` after `stream` for those options, and `tool_choice`.
async fn sent(model: &str, options: Value) -> Value {
    let request = Request {
        options: Some(options.to_string()),
        tools: vec![tool("f")],
        ..asked(&[json!({"role": "user", "content": "a"})])
    };
    let body = body_of(|settings| settings.model = format!("anthropic:{model}"), request).await;
    let mut rest = body.as_object().unwrap().clone();
    for key in ["model", "tools", "messages", "stream"] {
        assert!(rest.shift_remove(key).is_some(), "{key}");
    }
    if rest["max_tokens"] == 16_384 {
        rest.shift_remove("max_tokens");
    }
    rest.into()
}

#[tokio::test]
async fn options_are_worded_as_this_api_has_them() {
    let table = [
        (json!({}), json!({})),
        (json!({"max_tokens": 7}), json!({"max_tokens": 7})),
        (json!({"max_completion_tokens": 7}), json!({"max_tokens": 7})),
        (json!({"max_tokens": null}), json!({})),
        (json!({"temperature": 0.5, "top_k": 3}), json!({"temperature": 0.5, "top_k": 3})),
        (json!({"seed": 1, "logprobs": true, "n": 1, "stream_options": {"include_usage": true}}), json!({})),
        (json!({"stop": "x"}), json!({"stop_sequences": ["x"]})),
        (json!({"stop": ["x", "y"]}), json!({"stop_sequences": ["x", "y"]})),
        (json!({"user": "u"}), json!({"metadata": {"user_id": "u"}})),
        (json!({"tool_choice": "auto"}), json!({"tool_choice": {"type": "auto"}})),
        (json!({"tool_choice": "none", "parallel_tool_calls": false}), json!({"tool_choice": {"type": "none"}})),
        (json!({"tool_choice": "required"}), json!({"tool_choice": {"type": "any"}})),
        (
            json!({"tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": false}),
            json!({"tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true}}),
        ),
        (
            json!({"parallel_tool_calls": false}),
            json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
        ),
        (json!({"parallel_tool_calls": true}), json!({})),
        (
            json!({"service_tier": "auto", "thinking": {"type": "disabled"}}),
            json!({"service_tier": "auto", "thinking": {"type": "disabled"}}),
        ),
        // The server says that it does not know it: without it the answer would mean something else.
        (json!({"response_format": {"type": "json_object"}}), json!({"response_format": {"type": "json_object"}})),
    ];
    for (options, wanted) in table {
        assert_eq!(sent("fake", options.clone()).await, wanted, "{options}");
    }
}

#[tokio::test]
async fn an_effort_is_translated_for_each_model() {
    let adaptive = |effort: &str| json!({"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}});
    let budget = |tokens: u64| json!({"thinking": {"type": "enabled", "budget_tokens": tokens}});
    let table = [
        ("claude-opus-5-5", "medium", adaptive("medium")),
        ("claude-sonnet-5", "minimal", adaptive("low")),
        ("claude-opus-4-7", "xhigh", adaptive("xhigh")),
        ("claude-sonnet-4-6", "xhigh", adaptive("high")),
        ("anthropic/claude-opus-4.6", "max", adaptive("max")),
        ("claude-haiku-4-5-20251001", "low", budget(2_048)),
        ("claude-opus-4-20250514", "medium", budget(8_192)),
        // Three quarters of the tokens that the answer may have.
        ("claude-3-7-sonnet-latest", "high", budget(12_288)),
        ("claude-3-5-haiku-latest", "high", json!({})),
        ("claude-mythos-preview", "high", json!({})),
        ("fake", "high", json!({})),
        ("claude-opus-5-5", "none", json!({})),
        ("claude-opus-5-5", "auto", json!({})),
    ];
    for (model, effort, wanted) in table {
        assert_eq!(sent(model, json!({"reasoning_effort": effort})).await, wanted, "{model} {effort}");
    }
}

#[tokio::test]
async fn an_explicit_thinking_option_overrides_the_effort() {
    let own = json!({"reasoning_effort": "high", "thinking": {"type": "enabled", "budget_tokens": 2000}});
    assert_eq!(sent("claude-opus-4-6", own).await, json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}));
    let own = json!({"output_config": {"effort": "low", "x": 1}, "reasoning_effort": "high"});
    assert_eq!(sent("claude-opus-5", own).await["output_config"], json!({"effort": "low", "x": 1}));
}

#[tokio::test]
async fn a_thinking_model_gets_no_sampling_options() {
    let options =
        json!({"reasoning_effort": "low", "temperature": 0, "top_p": 0.5, "top_k": 3, "service_tier": "auto"});
    let sent = sent("claude-haiku-4-5", options).await;
    assert_eq!(sent, json!({"service_tier": "auto", "thinking": {"type": "enabled", "budget_tokens": 2048}}));
}

#[tokio::test]
async fn a_budget_is_left_out_where_the_api_would_refuse_it() {
    let forced = json!({"reasoning_effort": "low", "tool_choice": "required"});
    assert!(sent("claude-haiku-4-5", forced.clone()).await.get("thinking").is_none());
    assert!(sent("claude-opus-4-6", forced).await.get("thinking").is_some());
    assert!(
        sent("claude-haiku-4-5", json!({"reasoning_effort": "low", "max_tokens": 1200}))
            .await
            .get("thinking")
            .is_none()
    );
    let call = json!({"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = [
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "x", "content": "r"}),
        json!({"role": "user", "content": "go on"}),
    ];
    for (model, thinks) in [("claude-haiku-4-5", false), ("claude-sonnet-5", true)] {
        let request = Request {
            options: Some(r#"{"reasoning_effort":"low"}"#.to_owned()),
            tools: vec![tool("f")],
            ..asked(&messages)
        };
        let body = body_of(|settings| settings.model = format!("anthropic:{model}"), request).await;
        assert_eq!(body.get("thinking").is_some(), thinks, "{model}");
    }
}

#[tokio::test]
async fn an_option_may_not_take_the_place_of_the_system_prompt() {
    let server = Server::start([events(&words("ok"))]).await;
    let request =
        Request { options: Some(r#"{"system":"x"}"#.to_owned()), ..asked(&[json!({"role": "user", "content": "a"})]) };
    let error = error_of(settings(&server), request).await;
    assert_eq!(error.kind, ErrorKind::InvalidInput);
    assert_eq!(error.message, "the options of the request may not set `system`");
}
