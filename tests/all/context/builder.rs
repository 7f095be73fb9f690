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
fn tape_context_shows_the_request_that_is_sent() {
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
fn a_session_can_override_options() {
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
fn messages_that_left_the_window_are_summarized_after_the_turn() {
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
fn the_providers_report_corrects_the_estimate_of_the_next_turn() {
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

/// The system prompt of a request.
fn system(server: &Server) -> String {
    said(server.requests().last().expect("the model was asked"))[0].1.clone()
}

fn long_workspace(home: &Home) {
    let rules: String = (0..2_000).map(|at| format!("Rule {at} of this workspace is to be kept.\n")).collect();
    fs::write(home.workspace().join("AGENTS.md"), rules).expect("it can be written");
}

/// A window of 8192 tokens and an untrusted workspace with much text, in a fresh home.
#[test]
fn memory_and_date_are_cut_last_and_the_cut_is_an_event_and_a_line_of_the_command() {
    let home = builder("");
    home.configure("max_tokens = 1000\ncontext_reserve = 500\n[windows]\nfake-model = 8192");
    let server = Server::ruled(|_| Answer::text("well"));
    home.run([r#",memory.save content="The owner likes dark mode.""#]).finish();
    home.run(["hello"]).model(&server).finish();
    assert!(system(&server).contains("The owner likes dark mode."), "{}", system(&server));
    assert!(events(&home, "context.cut").is_empty(), "all of it has room: {:?}", events(&home, "context.cut"));
    long_workspace(&home);
    home.run(["hello again"]).model(&server).finish();
    let told = system(&server);
    assert!(
        told.contains("Today is ") && told.contains("The owner likes dark mode.") && told.contains("</memory>"),
        "{told}"
    );
    assert!(told.contains("Rule 1 of this workspace") && !told.contains("Rule 1999"), "{told}");
    assert!(told.contains("characters left out: no room ...]\n</workspace_instructions>"), "{told}");
    let cuts = events(&home, "context.cut");
    assert_eq!((cuts.len(), &cuts[0]["cuts"][0]["part"]), (1, &"builtin/workspace".into()), "{cuts:?}");
    let command = home.run([",context"]).finish();
    assert!(command.stdout.contains("\ncut: builtin/workspace of the system prompt, from "), "{command}");
}

#[test]
fn a_cut_is_reported_again_in_later_steps_only_for_another_part() {
    let home = builder("total_budget = 4000");
    long_workspace(&home);
    let info = || Answer::tool_call("tape_info", "{}");
    let server = Server::new([info(), info(), info(), info(), Answer::text("done")]);
    home.run(["hello"]).model(&server).finish();
    let selected = events(&home, "context.selected");
    assert!(selected.len() == 5 && selected.iter().all(|event| event["cuts"][0]["part"] == "builtin/workspace"));
    let cuts = events(&home, "context.cut");
    let parts = |event: &Value| event["cuts"].as_array().map_or(0, Vec::len);
    assert!(!cuts.is_empty() && cuts.is_sorted_by(|one, next| parts(one) < parts(next)), "{cuts:?}");
}

#[test]
fn a_long_workspace_file_is_whole_as_long_as_the_budget_has_room() {
    let home = builder("");
    let rules: String = (0..1_200).map(|at| format!("Rule {at} of this workspace is to be kept.\n")).collect();
    fs::write(home.workspace().join("AGENTS.md"), rules).expect("it can be written");
    let server = Server::ruled(|_| Answer::text("well"));
    home.run(["hello"]).model(&server).finish();
    let told = system(&server);
    assert!(
        told.contains("Rule 1199") && told.contains("Today is "),
        "more than 20 percent of 48,000, and no other section needs the rest"
    );
}

/// The instruction at the end of the latest request.
fn pinned(server: &Server) -> String {
    let told = said(server.requests().last().expect("the model was asked"));
    told.iter()
        .find(|(_, text)| text.starts_with("[CRITICAL INSTRUCTION]"))
        .map(|(_, text)| text.clone())
        .unwrap_or_default()
}

#[test]
fn a_phrase_that_continues_is_not_the_goal_and_the_goal_ends_with_the_task() {
    let home = builder("sliding_window_size = 1");
    let server = Server::ruled(|_| Answer::text("Step done. Shall I go on?"));
    let goal_after = |message: &str| {
        home.run([message]).model(&server).finish();
        pinned(&server)
    };
    assert!(goal_after("Port the parser to Rust").contains("Goal: \"Port the parser to Rust\"\n"));
    for word in ["continue", "go on", "weiter", "继续", "yes, please"] {
        let pinned = goal_after(word);
        assert!(pinned.contains("Goal: \"Port the parser to Rust\"\n"), "{word}: {pinned}");
        assert!(pinned.contains(&format!("Latest Message: \"{word}\"\n")), "{word}: {pinned}");
    }
    let command = home.run([",context"]).finish();
    assert!(command.stdout.contains("\ngoal: Port the parser to Rust (`,context done` ends it)"), "{command}");
    assert_eq!(goal_after("thanks"), "", "the task is done");
    assert_eq!(goal_after("ok"), "", "and stays so");
    assert!(goal_after("Now write its tests").contains("Goal: \"Now write its tests\"\n"));
    home.run([",context done"]).finish();
    assert_eq!(goal_after("continue"), "", "the user has said that it is done");
    assert!(goal_after("Describe the parser").contains("Goal: \"Describe the parser\"\n"));
    home.run([",tape.handoff name=second"]).finish();
    assert_eq!(goal_after("continue"), "", "a handoff ends it");
}

#[test]
fn an_automatic_handoff_carries_the_goal_along() {
    let home = builder("");
    let server = Server::new([
        Answer::text("Begun."),
        Answer::too_long(9_900, 10_000),
        Answer::text("Going on."),
        Answer::text("And on."),
    ]);
    for message in ["Port the parser to Rust", "continue", "weiter"] {
        home.run([message]).model(&server).finish();
        assert!(pinned(&server).contains("Goal: \"Port the parser to Rust\"\n"), "{message}: {}", pinned(&server));
    }
}

#[test]
fn the_labels_follow_the_language_of_the_conversation() {
    let home = builder("sliding_window_size = 1\nsummary_after_messages = 2");
    let server = Server::ruled(|_| Answer::text("好的，我记住了这一点。"));
    for message in ["我的名字叫小明。", "我住在上海的浦东新区。", "我的猫叫豆豆。"] {
        home.run([message]).model(&server).finish();
    }
    let told = said(server.requests().last().expect("the model was asked"));
    assert!(told[1].1.starts_with("[对话背景摘要]\n"), "{told:?}");
    home.run(["From here on we speak English, please."]).model(&server).finish();
    let told = said(server.requests().last().expect("the model was asked"));
    assert!(told[1].1.starts_with("[Conversation summary]\n"), "{told:?}");
}

/// Fewer messages than are due for a summary have left the window.
#[test]
fn messages_that_are_not_summarized_yet_are_quoted_or_named() {
    let home = builder("sliding_window_size = 1");
    let server = Server::ruled(|_| Answer::text("It is noted."));
    for message in ["The gate code is 7319.", "My sister plays the cello.", "Tea is served at five."] {
        home.run([message]).model(&server).finish();
    }
    home.run(["What is the gate code?"]).model(&server).finish();
    let told = said(server.requests().last().expect("the model was asked"));
    let earlier = &told[1].1;
    assert!(
        earlier.starts_with(
            "[Conversation summary]\n[Since then]\nuser: The gate code is 7319.\nassistant: It is noted.\n"
        ),
        "{told:?}"
    );
    assert!(records(&home, "context-builder").is_empty(), "six messages, and ten are due");
    // Without summaries what is not shown is named.
    let without = builder("sliding_window_size = 1\nenable_summary = false\nenable_memory_retrieval = false");
    for message in ["The gate code is 7319.", "My sister plays the cello.", "Tea is served at five."] {
        without.run([message]).model(&server).finish();
    }
    let told = said(server.requests().last().expect("the model was asked"));
    assert!(!told.iter().any(|(_, text)| text.contains("7319")), "{told:?}");
    assert!(
        told[1].1.contains("\n[Not shown: entries ") && told[1].1.contains("`tape_search` finds them]"),
        "{told:?}"
    );
    let command = without.run([",context"]).finish();
    assert!(command.stdout.contains("\nnot shown: entries "), "{command}");
}

/// The program ends while a model summarises behind the turn.
#[test]
fn a_summary_that_is_cut_short_loses_nothing() {
    let home = builder(
        "sliding_window_size = 1\nsummary_after_messages = 2\nsummary_model = \"openai:fake-model\"\nenable_memory_retrieval = false",
    );
    let server = Server::ruled(|request| match request.messages()[0]["content"].as_str() {
        Some(text) if text.starts_with("Summarise the conversation below") => Answer::Silence,
        _ => Answer::text("It is noted."),
    });
    home.run(["The gate code is 7319."]).model(&server).finish();
    for message in ["My sister plays the cello.", "Tea is served at five."] {
        let before = server.requests().len();
        let running = home.run([message]).model(&server).start();
        // The turn's own call, and the one behind it where one is due.
        server.wait_for(before + 1);
        running.prints("It is noted.");
        running.kill();
    }
    let shown = home.bub(["tape", "context", "--prompt", "What is the gate code?", "--json"]).model(&server).finish();
    assert!(shown.stdout.contains("The gate code is 7319."), "{shown}");
}
