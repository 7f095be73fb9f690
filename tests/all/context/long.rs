//! A long conversation with a model that takes little.

use super::events;
use crate::home;
use bub_tests::{Answer, Home, Request, Server};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use tiktoken_rs::o200k_base_singleton;

/// The context window of the model, and the limit of an answer.
const WINDOW: usize = 8_000;
const ANSWER: usize = 1_000;

/// Turns in one process.
const STRETCH: usize = 30;

/// Texts that were counted: most of a request was in the one before.
static COUNTED: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);

fn tokens(text: &str) -> usize {
    let mut counted = COUNTED.lock().expect("no thread panicked");
    let count = || o200k_base_singleton().encode_ordinary(text).len();
    *counted.entry(text.to_owned()).or_insert_with(count)
}

/// The tokens of a request, as a provider counts: its texts, and a little for each message and tool.
pub(crate) fn count(request: &Request) -> usize {
    let body = request.json();
    let list = |key: &str| body[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let messages = list("messages").iter().map(|message| 4 + tokens(&text(&message["content"]))).sum::<usize>();
    let tools = list("tools").iter().map(|tool| 8 + tokens(&tool["function"].to_string())).sum::<usize>();
    messages + tools
}

/// A model that refuses what is too long, and how often it did.
fn model() -> (Server, Arc<AtomicUsize>) {
    let refused = Arc::new(AtomicUsize::new(0));
    let counter = refused.clone();
    let server = Server::ruled(move |request| {
        let tokens = count(request);
        if tokens + ANSWER > WINDOW {
            counter.fetch_add(1, Ordering::Relaxed);
            return Answer::too_long(WINDOW, tokens);
        }
        let words = "There is a good deal to be said about it, and most of it was said already. ".repeat(6);
        Answer::counted(&format!("{words}That is all."), tokens)
    });
    (server, refused)
}

fn converse(selector: &str, turns: usize) -> (Home, Server, usize) {
    let home = home().without_tools();
    home.configure(&format!(
        "selector = \"{selector}\"\nmax_tokens = {ANSWER}\n[windows]\n\"openai:fake-model\" = {WINDOW}\n[plugins.context-builder]\nenabled = true"
    ));
    let line = |turn: usize| match turn {
        3 => "Remember that the harbour gate code is 7319.".to_owned(),
        turn if turn == turns => "What is the harbour gate code?".to_owned(),
        turn => format!(
            "Here is thought number {turn}: the weather on day {turn} was pleasant, and the path went on along the shore for a while."
        ),
    };
    let lines: Vec<String> = (1..=turns).map(|turn| line(turn) + "\n").collect();
    let (server, refused) = model();
    for lines in lines.chunks(STRETCH) {
        let chat = home.bub(["chat", "--session-id", "cli:local"]);
        let finished = chat.model(&server).input(&lines.concat()).finish();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    }
    let refused = refused.load(Ordering::Relaxed);
    (home, server, refused)
}

#[test]
fn three_hundred_turns_fit_a_model_of_8000_tokens_and_the_third_is_not_forgotten() {
    let (home, server, refused) = converse("context-builder", 300);
    assert_eq!(refused, 0, "not one overflow");
    let requests = server.requests();
    assert_eq!(requests.len(), 300);
    let last = requests[299].messages();
    let told =
        last.iter().filter(|message| message["content"].as_str().is_some_and(|text| text.contains("7319"))).count();
    assert!(told >= 1, "{last:#?}");
    // The window is used, and no phase had to be ended for it.
    let used = count(&requests[299]);
    assert!(used > WINDOW / 2, "{used}");
    assert!(events(&home, "handoff").iter().all(|handoff| handoff["name"] == "session/start"));
}

#[test]
fn the_whole_window_is_handed_off_before_the_model_refuses() {
    let (home, server, refused) = converse("builtin", 120);
    assert_eq!(refused, 0, "not one overflow");
    assert_eq!(server.requests().len(), 120);
    let handoffs = events(&home, "handoff");
    let handoffs: Vec<&Value> =
        handoffs.iter().filter(|handoff| handoff["name"] == "auto_handoff/context_budget").collect();
    assert!(handoffs.len() >= 2, "{handoffs:?}");
    for handoff in handoffs {
        let state = &handoff["state"];
        assert_eq!((&state["reason"], &state["window"]), (&"context_budget".into(), &WINDOW.into()), "{state}");
        assert!(state["estimate"].as_u64() > Some(6_000), "{state}");
        assert!(
            state["summary"].as_str().is_some_and(|text| text.contains("7319")),
            "the fact goes from phase to phase: {state}"
        );
    }
}
