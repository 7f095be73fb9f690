//! Functions that need no server, most of their results recorded from the original.

use bub_model::{
    ErrorKind, Event, Secret, Settings, ToolCall, is_context_length, key_wanted, known_provider, split, window,
};
use bub_test_support::golden::cases;

use super::server::{Answer, Server};
use super::{KEY, ask, request, settings};

#[test]
fn overflows_are_distinguished_from_other_errors_as_in_the_original() {
    for case in cases("context_length_regex") {
        let input = case["input"].as_str().unwrap();
        assert_eq!(is_context_length(input), case["ok"], "{input}");
    }
}

#[tokio::test]
async fn pieces_of_a_tool_call_are_merged_as_the_original_does() {
    for case in cases("stream_tool_call") {
        // The original was asked for the call with index 3.
        let chunks: Vec<String> = case["input"]
            .as_array()
            .unwrap()
            .iter()
            .map(|piece| {
                let mut piece = piece.clone();
                piece["index"] = 3.into();
                serde_json::json!({"choices": [{"delta": {"tool_calls": [piece]}}]}).to_string()
            })
            .collect();
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let server = Server::start([Answer::events(&chunks)]).await;
        let (events, error) = ask(settings(&server), request()).await;
        assert_eq!(error, None);
        let field = |pointer| case["ok"].pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let call =
            ToolCall { id: Some(field("/id")), name: field("/function/name"), arguments: field("/function/arguments") };
        assert_eq!(events.first(), Some(&Event::ToolCalls(vec![call])), "{}", case["name"]);
    }
}

#[test]
fn a_model_is_split_at_its_first_colon() {
    assert_eq!(split("openai:gpt-4o").unwrap(), ("openai", "gpt-4o"));
    assert_eq!(split("ollama:llama3:8b").unwrap(), ("ollama", "llama3:8b"));
    assert_eq!(split("openrouter:openrouter/free").unwrap(), ("openrouter", "openrouter/free"));
}

#[test]
fn a_model_without_a_provider_is_a_config_error_that_shows_how_to_write_it() {
    let error = split("gpt-4o").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    assert_eq!(error.message, "model `gpt-4o` names no provider: write `provider:model`, for example `openai:gpt-4o`");
    for wrong in ["", ":", ":x", "openai:", "openai: ", "o i:x", "openai:a\nb"] {
        let error = split(wrong).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config, "{wrong:?}");
        assert!(!error.message.contains('\n'), "{wrong:?}");
    }
}

#[test]
fn the_longest_matching_name_determines_the_window() {
    assert_eq!(window("openai:gpt-4"), Some(8_192));
    assert_eq!(window("openai:gpt-4-0613"), Some(8_192));
    assert_eq!(window("openai:gpt-4-turbo-2024-04-09"), Some(128_000));
    assert_eq!(window("openai:gpt-4o-mini"), Some(128_000));
    assert_eq!(window("openrouter:anthropic/claude-sonnet-4.5:free"), Some(200_000));
    assert_eq!(window("gpt-4.1"), Some(1_047_576));
    assert_eq!(window("anthropic:claude-haiku-4-5-20251001"), Some(200_000));
    assert_eq!(window("anthropic:claude-opus-4-6"), Some(1_000_000));
    assert_eq!(window("openrouter:anthropic/claude-sonnet-5.5"), Some(1_000_000));
    assert_eq!(window("openai:gpt-4.9"), None);
    assert_eq!(window("ollama:llama-3.1"), None);
    assert_eq!(window(""), None);
}

#[test]
fn a_built_in_provider_is_known_however_it_is_written() {
    assert!(known_provider("openai"));
    assert!(known_provider("OpenAI"));
    assert!(known_provider("anthropic"));
    assert!(!known_provider("acme"));
}

#[test]
fn a_key_that_is_bound_to_hosts_is_resolved_by_the_target_host() {
    let mut settings = Settings::new("anthropic:x");
    let wanted = |host: &str, is_https| Some(("anthropic".to_owned(), host.to_owned(), is_https));
    assert_eq!(key_wanted(&settings, "Anthropic:x"), wanted("api.anthropic.com", true));
    settings.bases.insert("anthropic".to_owned(), "http://localhost:1/v1".to_owned());
    assert_eq!(key_wanted(&settings, "anthropic:x"), wanted("localhost", false));
    settings.keys.insert("anthropic".to_owned(), Secret::new(KEY));
    assert_eq!(key_wanted(&settings, "anthropic:x"), None);
}

#[test]
fn printing_a_secret_or_the_settings_shows_no_key() {
    let secret = Secret::new(KEY);
    assert_eq!(format!("{secret} {secret:?}"), "*** ***");
    assert_eq!(secret.expose(), KEY);
    let mut settings = Settings::new("openai:fake");
    settings.api_key = Some(secret.clone());
    settings.keys.insert("openai".to_owned(), secret);
    settings.api_base = Some(format!("http://user:{KEY}@host/?key={KEY}"));
    settings.headers.push(("x-key".to_owned(), KEY.to_owned()));
    assert!(!format!("{settings:?}").contains(KEY));
}
