//! Properties for any tape and any budget.

use super::*;
use crate::fake::{Store, Tape};
use crate::thread;
use crate::window::user;
use bub_estimate::Ratio;
use proptest::prelude::*;
use serde_json::Map;

/// One event on a tape.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Start,
    End,
    User(String),
    Assistant(String),
    Tools(Vec<String>),
    /// A call without a result, and a result without a call.
    Call,
    Result(String),
    Anchor(String),
}

pub(super) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,40}",
        "[\\u{4e00}-\\u{4e40}🎉a-z \\n]{0,80}",
        (1_usize..400).prop_map(|count| "a line of a text\n".repeat(count)),
    ]
}

pub(super) fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        2 => Just(Deed::Start),
        1 => Just(Deed::End),
        3 => text().prop_map(Deed::User),
        3 => text().prop_map(Deed::Assistant),
        3 => prop::collection::vec(text(), 1..4).prop_map(Deed::Tools),
        1 => Just(Deed::Call),
        1 => text().prop_map(Deed::Result),
    ]
}

fn tape() -> impl Strategy<Value = Tape> {
    (prop::option::of(text().prop_map(Deed::Anchor)), prop::collection::vec(deed(), 0..60)).prop_map(
        |(anchor, deeds)| {
            let mut tape = Tape::default();
            anchor.into_iter().chain(deeds).for_each(|deed| happen(&mut tape, deed));
            tape
        },
    )
}

/// Applies it to a tape.
pub(super) fn happen(tape: &mut Tape, deed: Deed) {
    match deed {
        Deed::Start => tape.start(),
        Deed::End => tape.end(),
        Deed::User(text) => tape.user(&text),
        Deed::Assistant(text) => tape.assistant(&text),
        Deed::Tools(results) => {
            let names: Vec<String> = (0..results.len()).map(|at| format!("tool_{at}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            tape.call(&names).push("tool_result", json!({ "results": results }))
        }
        Deed::Call => tape.call(&["lost"]),
        Deed::Result(text) => tape.result(&text),
        Deed::Anchor(text) => tape.anchor("phase", json!({ "summary": text })),
    };
}

/// The messages of the request as the host renders them.
fn messages(built: &Built, request: &Request, tape: &Tape) -> Vec<Value> {
    let system = built.system_prompt.clone().unwrap_or_else(|| request.system_prompt.clone());
    let entry = |id: u64| {
        let entry = tape.0.iter().find(|entry| entry.id == id).expect("it is on the tape");
        let payload: Value = serde_json::from_str(&entry.payload).unwrap();
        match entry.kind.as_str() {
            "message" => payload,
            "tool_call" => json!({ "role": "assistant", "tool_calls": payload["calls"] }),
            _ => json!({ "role": "assistant", "content": format!("[Anchor created: phase]: {}", payload["state"]) }),
        }
    };
    let unit = |unit: &Unit| match unit {
        Unit::Message { id, .. } => vec![entry(*id)],
        Unit::Cut { message, .. } => vec![message.clone()],
        Unit::Calls { id, results, .. } => {
            std::iter::once(entry(*id)).chain(results.messages.iter().map(|(message, _)| message.clone())).collect()
        }
    };
    (!system.is_empty())
        .then(|| super::system(&system))
        .into_iter()
        .chain(built.before.clone())
        .chain(built.history.iter().flat_map(unit))
        .chain(built.said.clone().unwrap_or_else(|| request.said.clone()))
        .chain(built.after.clone())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_request_keeps_its_budget_its_input_its_pairs_and_its_order(
        tape in tape(),
        total in 512_u64..6_000,
        window in 1_u64..30,
        prompt in text(),
        system_prompt in text(),
        ratio in 0.5_f64..3.0,
        began in 0_u64..80,
        is_said in prop::bool::weighted(0.9),
    ) {
        let options = Options { total_budget: total, sliding_window_size: window, ..Options::read(|_| None, &Map::new()).unwrap() };
        let scale = Scale(Ratio::kept(ratio));
        let said = if is_said { vec![user(&prompt)] } else { Vec::new() };
        let request = Request { system_prompt, prompt: prompt.clone(), said, began, scale, ..Request::default() };
        let store = Store::of(tape.clone());
        let built = context(&options, &request, &store).unwrap();
        let messages = messages(&built, &request, &tape);

        let weight: u64 = messages.iter().map(|message| scale.message(message)).sum();
        prop_assert!(weight <= total, "{weight} of {total}");
        prop_assert!(built.tracker.used() <= total);

        // Its beginning: head and tail of a cut message are kept. An empty one cannot be lost.
        let head: String = prompt.chars().take(20).collect();
        let there = messages.iter().any(|message| message["role"] == "user" && thread::words(&message["content"]).contains(&head));
        prop_assert!(there || prompt.is_empty(), "{prompt:?} is not in {messages:?}");

        let mut open: Vec<Value> = Vec::new();
        for message in &messages {
            if message["role"] == "tool" {
                prop_assert!(!open.is_empty(), "a result without its call: {messages:?}");
                prop_assert_eq!(&open.remove(0), &message["tool_call_id"]);
            } else {
                prop_assert!(open.is_empty(), "a call without all its results: {messages:?}");
                open = message["tool_calls"].as_array().into_iter().flatten().map(|call| call["id"].clone()).collect();
            }
        }
        prop_assert!(open.is_empty());

        prop_assert!(built.history.is_sorted_by_key(Unit::id));
        let again = context(&options, &request, &store).unwrap();
        prop_assert_eq!(format!("{:?}", built.selected()), format!("{:?}", again.selected()));
    }
}

/// A long input of this turn must not take the room of a prompt that is nowhere else.
#[test]
fn a_prompt_that_is_not_in_any_message_keeps_its_room_beside_two_long_inputs() {
    let long = "a line of a text\n".repeat(400);
    let mut tape = Tape::default();
    tape.start().user(&long).user(&long);
    for total in 512..600 {
        for ratio in [0.5, 1.0, 1.7, 2.65, 3.0] {
            let scale = Scale(Ratio::kept(ratio));
            let options = Options { total_budget: total, ..Options::read(|_| None, &Map::new()).unwrap() };
            let request = Request { prompt: "go on".to_owned(), began: 1, scale, ..Request::default() };
            let built = context(&options, &request, &Store::of(tape.clone())).unwrap();
            let messages = messages(&built, &request, &tape);
            let weight: u64 = messages.iter().map(|message| scale.message(message)).sum();
            assert!(weight <= total, "{weight} of {total}, at {ratio}");
            assert!(messages.iter().any(|message| message["content"] == "go on"), "at {ratio}: {messages:?}");
        }
    }
}
