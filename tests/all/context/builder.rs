//! `context-builder` in the whole program.

use super::{events, has, said};
use crate::home;
use bub_tests::{Answer, Home, Server, tape};
use serde_json::Value;
use std::fs;

fn builder(config: &str) -> Home {
    let home = home();
    home.configure(&format!("selector = \"context-builder\"\n[plugins.context-builder.config]\n{config}"));
    home
}

#[test]
fn what_tape_context_shows_is_what_is_sent() {
    let home = builder("");
    let server = Server::new([Answer::text("one"), Answer::text("two")]);
    home.run(["first"]).model(&server).finish();
    let shown = home.bub(["tape", "context", "--prompt", "second", "--json"]).model(&server).finish();
    home.run(["second"]).model(&server).finish();
    let mut shown: Vec<Value> = serde_json::from_str(&shown.stdout).expect("it is JSON");
    let mut sent = server.requests()[1].messages();
    assert_eq!(shown.len(), sent.len());
    assert!(
        sent.last().is_some_and(|last| last["content"].as_str().is_some_and(|text| text.contains("Goal: \"second\""))),
        "{sent:?}"
    );
    // The prompt holds the second in which it was made.
    let prompt = sent.len() - 2;
    shown.remove(prompt);
    sent.remove(prompt);
    assert_eq!(shown, sent);
}

#[test]
fn options_that_make_no_sense_are_refused_when_the_program_starts() {
    for (config, named) in [
        ("total_budget = 511", "total_budget"),
        ("enable_sumary = true", "enable_sumary"),
        ("min_similarity = 2", "min_similarity"),
        ("language = \"fr\"", "language"),
    ] {
        builder(config).run(["ECHO:hi"]).finish().refuses(&["context-builder", named]);
    }
}

#[test]
fn a_session_sets_options_of_its_own() {
    let home = builder("");
    let server = Server::new(["one", "two", "three"].map(Answer::text));
    home.run(["first"]).model(&server).finish();
    let set = home.run([",context set sliding_window_size=1 enable_instruction_pinning=off"]).finish();
    assert!(
        set.stdout.contains("* sliding_window_size = 1\n")
            && set.stdout.contains("* enable_instruction_pinning = false\n"),
        "{set}"
    );
    home.run(["second"]).model(&server).finish();
    home.run(["third"]).model(&server).finish();
    let last = &server.requests()[2];
    assert!(!has(last, "first") && has(last, "second") && has(last, "third"), "{:?}", said(last));
    for line in [",context set total_budget=511", ",context set window=3", ",context frobnicate", ",context set"] {
        let refused = home.run([line]).finish();
        assert_eq!(refused.code, Some(1), "{line}\n{refused}");
    }
    let reset = home.run([",context reset"]).finish();
    assert!(reset.stdout.contains("  sliding_window_size = 20\n") && !reset.stdout.contains('*'), "{reset}");
}

/// The records of a sidecar of the terminal's tape.
fn records(home: &Home, sidecar: &str) -> Vec<Value> {
    let name =
        format!("{}__sidecar__{sidecar}.jsonl", home.tape_file("cli:local").file_stem().unwrap().to_string_lossy());
    let path = home.tapes_dir().join(name);
    if !path.exists() {
        return Vec::new();
    }
    tape::read(&path).iter().map(|entry| entry["payload"]["data"].clone()).collect()
}

#[test]
fn what_has_left_the_window_is_summarised_behind_the_turn() {
    let home = builder("sliding_window_size = 1\nlanguage = \"en\"\nsummary_after_messages = 4");
    let server = Server::new((0..6).map(|at| Answer::text(&format!("Answer number {at} is given."))));
    home.run(["My name is Ada Lovelace."]).model(&server).finish();
    for at in 1..6 {
        home.run([format!("Question number {at} is this one?").as_str()]).model(&server).finish();
    }
    let summaries = records(&home, "context-builder");
    assert_eq!(summaries.len(), 2, "one for each four messages: {summaries:?}");
    assert!(summaries[0]["content"].as_str().is_some_and(|text| text.contains("Ada Lovelace")), "{summaries:?}");
    assert!(summaries[0]["through"].as_u64() < summaries[1]["through"].as_u64());
    assert_eq!(summaries[0]["by"], "extract");
    let told = said(&server.requests()[5]);
    assert!(told[1].1.starts_with("[Conversation summary]\n") && told[1].1.contains("Ada Lovelace"), "{told:?}");
    let tape = tape::read(&home.tape_file("cli:local"));
    assert!(
        !tape.iter().any(|entry| entry["payload"]["name"] == "context.summary"),
        "the tape itself is not written to"
    );
}

#[test]
fn a_model_summarises_where_one_is_named_and_sentences_are_quoted_where_it_fails() {
    let home = builder(
        "sliding_window_size = 1\nsummary_after_messages = 2\nsummary_model = \"openai:fake-model\"\nlanguage = \"zh\"",
    );
    let server = Server::ruled(|request| match request.messages()[0]["content"].as_str() {
        Some(text) if text.starts_with("用中文简洁地概括") && request.body.contains("fails") => {
            Answer::refusal("no summary today")
        }
        Some(text) if text.starts_with("用中文简洁地概括") => Answer::text("他们谈了天气。"),
        _ => Answer::text("It is fine."),
    });
    for message in ["The weather is nice today.", "Everything fails on Sundays.", "And tomorrow it rains again."] {
        home.run([message]).model(&server).finish().says("[cli:local]\nIt is fine.\n");
    }
    let first = records(&home, "context-builder");
    assert_eq!(first.last().map(|record| record["content"].clone()), Some("他们谈了天气。".into()), "{first:?}");
    let finished = home.run(["One more sentence."]).model(&server).finish().says("[cli:local]\nIt is fine.\n");
    finished.mentions("model `openai:fake-model` did not summarise");
    let second = records(&home, "context-builder");
    assert!(
        second.len() == first.len() + 1 && second.last().is_some_and(|record| record["by"] == "extract"),
        "{second:?}"
    );
    let usage = home.bub(["usage", "--json"]).finish();
    assert!(usage.stdout.contains("fake-model"), "{usage}");
}

#[test]
fn an_earlier_exchange_is_found_again_in_its_conversation() {
    let home = builder("sliding_window_size = 1\nenable_summary = false\nlanguage = \"en\"");
    let server = Server::ruled(|_| Answer::text("Very well."));
    for message in [
        "Remember that the harbour gate code is 7319.",
        "My sister plays the cello.",
        "The budget meeting moved to Monday.",
        "Tea is served at five.",
        "Deployments happen on Tuesdays.",
    ] {
        home.run([message]).model(&server).finish();
    }
    home.run(["What is the harbour gate code?"]).model(&server).finish();
    let told = said(server.requests().last().expect("the model was asked"));
    assert!(
        told.iter().any(|(role, text)| role == "system"
            && text.starts_with("[Related memories]\n- Remember that the harbour gate code is 7319.")),
        "{told:?}"
    );
    assert_eq!(
        events(&home, "context.selected").last().map(|data| data["metadata"]["retrievedMemoryCount"].clone()),
        Some(1.into())
    );
}

#[test]
fn what_the_provider_reports_corrects_the_estimate_of_the_next_turn() {
    let home = builder("");
    let server = Server::ruled(|request| Answer::counted("well", request.body.len() / 2));
    home.run(["first"]).model(&server).finish();
    home.run(["second"]).model(&server).finish();
    let ratios: Vec<f64> =
        events(&home, "context.selected").iter().filter_map(|data| data["metadata"]["ratio"].as_f64()).collect();
    assert_eq!(ratios[0], 1.0);
    assert!(ratios[1] > 1.5, "a token of two bytes is far more than was estimated: {ratios:?}");
    // The model is the same the day after.
    let usage = home.bub_home().join("usage");
    let today = fs::read_dir(&usage).expect("it is there").flatten().next().expect("there is a file").path();
    fs::rename(&today, usage.join("2020-02-29.jsonl")).expect("it is there");
    home.run(["third"]).model(&server).finish();
    let last = events(&home, "context.selected").last().and_then(|data| data["metadata"]["ratio"].as_f64());
    assert!(last > Some(1.5), "{last:?}");
}

#[test]
fn no_step_is_in_the_log_unless_debug_is_on() {
    let home = builder("");
    let server = Server::ruled(|_| Answer::text("well"));
    let lines = || {
        let run = home.run(["hello"]).model(&server).env("RUST_LOG", "debug").finish();
        run.stderr.matches("system prompt: ").count()
    };
    assert_eq!(lines(), 0);
    home.configure("[plugins.context-builder.config]\ndebug = true");
    assert!(lines() > 0);
}
