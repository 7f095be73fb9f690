//! Each step of the original's build, at its boundaries.

use super::*;
use crate::SIDECAR;
use crate::budget::Category;
use crate::fake::{Store, Tape};
use crate::options::{Language, Speech};
use crate::thread;
use crate::window::user;
use bub_estimate::{Ratio, chat};
use bub_guest::view::Part;
use bub_guest::{CutOrder, recall};
use serde_json::Map;

fn options() -> Options {
    Options::read(|_| None, &Map::new()).unwrap()
}

fn request(prompt: &str) -> Request {
    let said = if prompt.is_empty() { Vec::new() } else { vec![user(prompt)] };
    Request {
        system_prompt: "You are an agent.".to_owned(),
        prompt: prompt.to_owned(),
        said,
        began: u64::MAX,
        ..Request::default()
    }
}

fn built(options: &Options, request: &Request, store: &Store) -> Built {
    context(options, request, store).unwrap()
}

/// Roles and texts of the request.
fn roles(built: &Built) -> Vec<(String, String)> {
    let message =
        |message: &Value| (message["role"].as_str().unwrap_or_default().to_owned(), thread::words(&message["content"]));
    built.before.iter().chain(&built.after).map(message).collect()
}

fn ids(built: &Built) -> Vec<u64> {
    built.history.iter().map(Unit::id).collect()
}

fn talk(rounds: usize) -> Tape {
    let mut tape = Tape::default();
    for round in 0..rounds {
        tape.start().user(&format!("question {round:03}")).assistant("an answer").end();
    }
    tape
}

fn summarised(through: u64) -> Store {
    let mut store = Store::of(talk(12));
    let mut sidecar = Tape::default();
    sidecar.event(crate::summary::EVENT, json!({ "content": "谈了三件事。", "through": through }));
    store.sidecars.insert(SIDECAR.to_owned(), sidecar);
    store
}

fn part(name: &str, text: &str, cut: CutOrder) -> system::Part {
    system::Part { name: name.to_owned(), text: text.to_owned(), cut }
}

/// A request with these parts of the system prompt.
fn prompted(parts: Vec<system::Part>) -> Request {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    Request { system_prompt: texts.join("\n\n"), system_parts: parts, ..request("hello") }
}

#[test]
fn step_1_a_long_system_prompt_is_whole_while_other_parts_leave_room() {
    let small = Options { total_budget: 4_000, ..options() };
    let long = prompted(vec![part("a/agent", &"abcd".repeat(2_996), CutOrder::Normal)]);
    let alone = built(&small, &long, &Store::default());
    assert_eq!((&alone.system_prompt, alone.tracker.of(Category::SystemPrompt)), (&None, 3_000));
    assert!(alone.cuts.is_empty());
    // A long conversation is limited to its share of 55 percent.
    let mut tape = Tape::default();
    for _ in 0..19 {
        tape.start().user("q").assistant(&"abcd".repeat(290)).end();
    }
    let beside = built(&small, &long, &Store::of(tape));
    let (system, recent) = (beside.tracker.of(Category::SystemPrompt), beside.tracker.of(Category::RecentMessages));
    assert!((800..1_900).contains(&system) && recent > 1_400, "{:?}", beside.tracker);
    assert_eq!(beside.cuts[0].part, "a/agent");
    assert!(beside.tracker.used() <= 4_000 && beside.tracker.used() > 3_500, "{:?}", beside.tracker);
}

#[test]
fn step_1_memory_and_date_are_cut_last_and_a_cut_is_noted() {
    let small = Options { total_budget: 2_000, ..options() };
    let parts = vec![
        part("builtin/agent", &"You are an agent. ".repeat(40), CutOrder::Normal),
        part("builtin/workspace", &format!("<w>\n{}\n</w>", "A rule.\n".repeat(4_000)), CutOrder::First),
        part("memory/date", "Today is 2026-11-21.", CutOrder::Last),
        part("memory/memory", &format!("<memory>\n{}</memory>", "- a fact\n".repeat(40)), CutOrder::Last),
    ];
    let there = built(&small, &prompted(parts), &Store::of(talk(200)));
    let text = there.system_prompt.as_deref().expect("it is cut");
    assert!(text.contains("Today is 2026-11-21.") && text.contains("- a fact\n</memory>"), "{text}");
    assert!(there.cuts.iter().any(|cut| cut.part == "builtin/workspace" && cut.kept < cut.tokens), "{:?}", there.cuts);
    assert!(there.cuts.iter().all(|cut| !cut.part.starts_with("memory/")), "{:?}", there.cuts);
    let notes: Value = serde_json::from_str(&there.selected().notes).unwrap();
    assert_eq!(notes["cuts"][0]["part"], "builtin/workspace");
}

#[test]
fn step_2_the_summary_has_a_label_and_the_id_it_covers() {
    let store = summarised(8);
    let there = built(&options(), &request("hello"), &store);
    assert_eq!(
        roles(&there)[0],
        ("system".to_owned(), "[Conversation summary]\n谈了三件事。".to_owned()),
        "as the user writes"
    );
    assert_eq!((&there.metadata["usedSummary"], &there.metadata["summarizedMessageCount"]), (&json!(true), &json!(8)));
    assert_eq!(ids(&there)[0], 10, "the window begins behind it");
    let chinese = built(&options(), &request("请继续说下去吧"), &store);
    assert!(roles(&chinese)[0].1.starts_with("[对话背景摘要]\n"));
    let english = Options { language: Speech::Always(Language::English), ..options() };
    assert!(roles(&built(&english, &request("请继续说下去吧"), &store))[0].1.starts_with("[Conversation summary]\n"));
    let off = Options { enable_summary: false, ..options() };
    let without = built(&off, &request("hello"), &store);
    assert_eq!((ids(&without)[0], &without.metadata["usedSummary"]), (2, &json!(false)));
}

#[test]
fn step_2_a_summary_of_an_earlier_phase_or_one_that_cannot_be_read_stops_nothing() {
    let mut store = summarised(8);
    // The phase begins after the covered entries.
    store.tape.0.drain(..20);
    assert_eq!(built(&options(), &request("hello"), &store).metadata["usedSummary"], false);
    let mut store = summarised(8);
    store.broken = Some(ErrorKind::Unknown);
    let there = built(&options(), &request("hello"), &store);
    assert!(there.log.iter().any(|line| line == "[2] the summary cannot be read: it is broken"), "{:?}", there.log);
    assert_eq!(ids(&there)[0], 2);
}

#[test]
fn step_3_memories_have_a_label_and_an_empty_prompt_searches_for_none() {
    let mut store = Store::of(talk(1));
    store.known.push((recall::Source::History, "The harbour gate code is 7319.".to_owned()));
    let near = Options { min_similarity: 0.2, ..options() };
    let there = built(&near, &request("What is the harbour gate code?"), &store);
    assert!(
        roles(&there)[0].1.starts_with("[Related memories]\n- The harbour gate code is 7319. (similarity: 0."),
        "{:?}",
        roles(&there)
    );
    assert_eq!(there.metadata["retrievedMemoryCount"], 1);
    let asked = store.asked.borrow().len();
    built(&near, &request(""), &store);
    assert_eq!(store.asked.borrow().len(), asked + 1, "the summary alone was looked up");
    let off = Options { enable_memory_retrieval: false, ..near };
    assert_eq!(built(&off, &request("What is the harbour gate code?"), &store).metadata["retrievedMemoryCount"], 0);
}

#[test]
fn step_4_shares_that_are_not_used_go_to_the_recent_messages() {
    let mut tape = Tape::default();
    for _ in 0..10 {
        tape.start().user("q").assistant(&"abcd".repeat(90)).end();
    }
    // Each exchange has 99 tokens, ten have 990: more than the share of 55 percent.
    let small = Options { total_budget: 1_200, enable_instruction_pinning: false, ..options() };
    let there = built(&small, &request("hello"), &Store::of(tape));
    assert!(there.tracker.of(Category::RecentMessages) > 660, "{:?}", there.tracker);
    assert_eq!(there.metadata["rounds"], 10);
}

#[test]
fn step_4_without_a_thread_there_are_no_recent_messages() {
    let there = built(&options(), &request("hello"), &Store::default());
    assert!(there.history.is_empty());
    let stats = there.tracker.stats();
    assert_eq!((&stats["recentMessages"], &stats["summary"], &stats["retrieved"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!(there.metadata["includedMessageCount"], 0);
}

#[test]
fn step_5_the_current_input_is_not_cut_while_recent_messages_can_shrink() {
    let small = Options { total_budget: 2_000, ..options() };
    let long = "abcd".repeat(1_750);
    let there = built(&small, &request(&long), &Store::of(talk(20)));
    assert!(there.said.is_none(), "1754 of 2000 tokens");
    assert!(there.metadata["rounds"].as_u64().unwrap() < 20);
}

#[test]
fn step_5_one_message_larger_than_the_whole_budget_keeps_head_and_tail() {
    let small = Options { total_budget: 1_000, ..options() };
    let long = format!("BEGIN {} END", "abcd ".repeat(5_000));
    let there = built(&small, &request(&long), &Store::of(talk(20)));
    let said = thread::words(&there.said.as_ref().expect("it is cut")[0]["content"]);
    assert!(said.starts_with("BEGIN ") && said.ends_with(" END") && said.contains("characters left out"), "{said}");
    assert!(chat::plain(&said) >= 500, "the floor of the original");
    assert!(there.tracker.used() <= 1_000 && there.history.is_empty());
}

#[test]
fn step_5_with_include_current_input_it_is_cut_to_its_share_and_not_below_500() {
    let cut = Options { include_current_input: true, ..options() };
    let there = built(&cut, &request(&"abcd".repeat(3_000)), &Store::default());
    assert!((2_300..=2_400).contains(&there.tracker.of(Category::CurrentInput)), "{:?}", there.tracker);
    let small = Options { total_budget: 2_000, ..cut };
    let there = built(&small, &request(&"abcd".repeat(3_000)), &Store::default());
    assert!((450..=500).contains(&there.tracker.of(Category::CurrentInput)), "{:?}", there.tracker);
}

#[test]
fn step_5_the_safety_net_appends_a_missing_input() {
    let lost = Request { said: Vec::new(), ..request("twenty characters !! and more") };
    let there = built(&options(), &lost, &Store::of(talk(2)));
    assert_eq!(roles(&there)[0], ("user".to_owned(), "twenty characters !! and more".to_owned()));
    assert_eq!(there.metadata["safetyNet"], true);
    for (prompt, said, is_lost) in [
        ("", None, false),
        ("twenty characters !!", Some("x twenty characters !! y"), false),
        ("twenty characters !!", Some("twenty characters !"), true),
    ] {
        let said = said.map(user).into_iter().collect();
        let there = built(&options(), &Request { said, ..request(prompt) }, &Store::default());
        assert_eq!(there.metadata["safetyNet"], is_lost, "{prompt}");
    }
}

#[test]
fn step_5_user_messages_of_this_turn_are_kept_in_later_steps() {
    let mut tape = talk(3);
    let began = tape.last();
    tape.start().user("the task at hand");
    for _ in 0..40 {
        tape.tool("bash", &"a line\n".repeat(200)).user("Continue the task until all targets are completed.");
    }
    let small = Options { total_budget: 700, ..options() };
    let later = Request { began, ..request("Continue the task until all targets are completed.") };
    let there = built(&small, &later, &Store::of(tape));
    assert!(ids(&there).contains(&(began + 2)), "{:?}", ids(&there));
    assert!(there.tracker.used() <= 700);
    let (_, pinned) = roles(&there).pop().unwrap();
    assert!(
        pinned.contains("Goal: \"the task at hand\"") && pinned.contains("40 tool calls so far (bash x40)"),
        "{pinned}"
    );
}

#[test]
fn step_6_the_goal_is_pinned_at_the_end_with_200_characters() {
    for (characters, dots) in [(1, ""), (20, ""), (200, ""), (201, "...")] {
        let goal = "字".repeat(characters);
        let prompt = format!("sender_id=x\n---Date: 2026-11-21T10:00:00+01:00---\n{goal}");
        let there = built(&options(), &request(&prompt), &Store::of(talk(2)));
        let (role, text) = roles(&there).pop().unwrap();
        let expected = format!("User's Current Goal: \"{}{dots}\"\n", "字".repeat(characters.min(200)));
        assert!(role == "system" && text.starts_with("[CRITICAL INSTRUCTION]\n") && text.contains(&expected), "{text}");
    }
    assert!(roles(&built(&options(), &request(""), &Store::of(talk(2)))).is_empty());
    let off = Options { enable_instruction_pinning: false, ..options() };
    assert!(roles(&built(&off, &request("hello"), &Store::of(talk(2)))).is_empty());
}

#[test]
fn the_budget_is_the_configured_one_or_less_where_the_model_takes_less() {
    let total = |input_budget| {
        built(&options(), &Request { input_budget, ..request("hello") }, &Store::default()).metadata["budget"].clone()
    };
    assert_eq!((total(None), total(Some(100_000)), total(Some(6_600))), (json!(48_000), json!(48_000), json!(6_600)));
    assert_eq!(total(Some(512)), 512);
    let refused =
        context(&options(), &Request { input_budget: Some(511), ..request("hello") }, &Store::default()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Config);
    assert!(
        refused.message.contains("leaves 511 tokens") && refused.message.contains("512 are the least"),
        "{}",
        refused.message
    );
}

#[test]
fn tools_count_and_leave_the_least_that_holds_a_conversation() {
    let tools = vec![("big".to_owned(), "abcd".repeat(3_000), "{}".to_owned())];
    let with = Request { tools, ..request("hello") };
    let small = Options { total_budget: 4_000, ..options() };
    assert_eq!(built(&small, &with, &Store::default()).tracker.of(Category::Tools), 3_010);
    let smaller = Options { total_budget: 2_000, ..options() };
    assert_eq!(built(&smaller, &with, &Store::default()).tracker.of(Category::Tools), 2_000 - 512);
}

#[test]
fn the_providers_report_corrects_the_estimate() {
    let small = Options { total_budget: 1_000, enable_instruction_pinning: false, ..options() };
    let rounds = |ratio| {
        let corrected = Request { scale: Scale(Ratio::kept(ratio)), ..request("hello") };
        built(&small, &corrected, &Store::of(talk(200))).tracker.used()
    };
    let many = Options { sliding_window_size: 1_000, ..small.clone() };
    let count = |ratio| {
        let corrected = Request { scale: Scale(Ratio::kept(ratio)), ..request("hello") };
        built(&many, &corrected, &Store::of(talk(200))).metadata["rounds"].as_u64().unwrap()
    };
    assert!(rounds(1.0) <= 1_000);
    assert!(count(2.0) * 2 <= count(1.0) + 2 && count(0.5) > count(1.0));
}

#[test]
fn the_state_of_the_phase_anchor_comes_first() {
    let mut tape = Tape::default();
    tape.anchor("auto_handoff/context_budget", json!({ "summary": "the gate code is 7319" }));
    for _ in 0..40 {
        tape.start().user("q").assistant("a").end();
    }
    let there = built(&options(), &request("hello"), &Store::of(tape.clone()));
    assert_eq!(ids(&there)[0], 1, "although the window begins later");
    assert!(ids(&there)[1] > 10);
    // One that exceeds the remainder is cut.
    let mut long = Tape::default();
    long.anchor("phase", json!({ "summary": "a long story ".repeat(1_000) })).start().user("q").assistant("a").end();
    let small = Options { total_budget: 2_000, ..options() };
    let whole = built(&Options { total_budget: 6_000, ..options() }, &request("hello"), &Store::of(long.clone()));
    assert!(matches!(&whole.history[0], Unit::Message { .. }), "unused budget of others is lent");
    let there = built(&small, &request("hello"), &Store::of(long));
    assert!(matches!(&there.history[0], Unit::Cut { message, .. } if chat::message(message) < 2_000));
}

#[test]
fn each_step_logs_its_decisions() {
    let there = built(&options(), &request("hello"), &summarised(8));
    for step in [
        "[0] tools",
        "[1] system prompt: ",
        "[2] summary: ",
        "[4] recent messages: ",
        "[5] current input: ",
        "[6] pinned",
    ] {
        assert_eq!(there.log.iter().filter(|line| line.starts_with(step)).count(), 1, "{step}: {:?}", there.log);
    }
    assert!(there.log[0].starts_with("context begins") && there.log.last().unwrap().starts_with("context built"));
}

#[test]
fn unchanged_entries_are_selected_by_id() {
    let mut tape = Tape::default();
    tape.start()
        .user("one")
        .tool("bash", &"a line\n".repeat(2_000))
        .assistant("1")
        .end()
        .start()
        .user("two")
        .tool("ls", "x");
    let selected = built(&options(), &request("hello"), &Store::of(tape)).selected();
    let shown: Vec<String> = selected
        .history
        .iter()
        .map(|part| match part {
            Part::Entry(id) => id.to_string(),
            Part::Message(message) => serde_json::from_str::<Value>(message).unwrap()["role"].to_string(),
        })
        .collect();
    assert_eq!(shown, ["2", "3", "\"tool\"", "5", "8", "9", "10"]);
    let notes: Value = serde_json::from_str(&selected.notes).unwrap();
    assert_eq!(notes["metadata"]["compressedResults"], 1);
    assert!(notes["tokenStats"]["total"].as_u64().is_some_and(|total| total > 0));
}
