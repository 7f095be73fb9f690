//! Telemetry of commands that run many turns: `chat`, in pipes and on a terminal, and `mcp serve` over stdio.

use super::collector::{Collector, Habit, Seen, only, tree};
use crate::home;
use bub_tests::{Answer, Home, Run, Server, Started};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Far more than a turn takes, and far less than a request to a collector may.
const SOON: Duration = Duration::from_secs(10);

/// The spans of one trace.
fn of_trace(spans: &[Seen], trace: &str) -> Vec<Seen> {
    spans.iter().filter(|span| span.trace == trace).cloned().collect()
}

/// The spans of each trace, in the order in which they began.
fn traces(spans: &[Seen]) -> Vec<Vec<Seen>> {
    let begins = spans.iter().filter(|span| span.name == "turn");
    begins.map(|turn| of_trace(spans, &turn.trace)).collect()
}

#[test]
fn each_turn_of_a_chat_is_a_trace_of_its_own() {
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "buy milk").expect("a file to read");
    let collector = Collector::new();
    let read = json!({ "path": "notes.txt" }).to_string();
    let model = Server::new([Answer::tool_call("fs.read", &read), Answer::text("milk"), Answer::text("no more")]);
    let chat = collector.of(home.bub(["chat"])).model(&model).input("what is in notes.txt?\nand besides?\n");
    let finished = chat.finish();
    assert!(finished.stdout.contains("milk") && finished.stdout.contains("no more"), "{finished}");
    let spans = collector.spans();
    let traces = traces(&spans);
    assert_eq!(traces.len(), 2, "{}", tree(&spans));
    assert_eq!(traces.iter().map(Vec::len).sum::<usize>(), spans.len(), "every span is in a turn: {}", tree(&spans));
    let trees: Vec<String> = traces.iter().map(|spans| tree(spans)).collect();
    let with_tool = "      chat fake-model\n        POST\n      execute_tool fs.read\n        call-tool workspace\n";
    assert!(trees[0].starts_with("turn\n  resolve-session\n    resolve-session builtin\n"), "{}", trees[0]);
    assert!(trees[0].contains(with_tool) && trees[0].contains("\n  commit\n"), "{}", trees[0]);
    assert!(!trees[1].contains("execute_tool") && trees[1].contains("        POST\n"), "{}", trees[1]);
    for turn in spans.iter().filter(|span| span.name == "turn") {
        assert_eq!((turn.parent.as_str(), turn.attributes["bub.outcome"].as_str()), ("", "answered"), "{turn:?}");
        assert_eq!(turn.attributes["bub.channel"], "cli", "{turn:?}");
    }
    // What the model's server was told belongs to the requests, in their order.
    let told: Vec<String> =
        model.requests().iter().map(|request| request.header("traceparent").unwrap_or_default().to_owned()).collect();
    let requests = spans.iter().filter(|span| span.name == "POST");
    let made: Vec<String> = requests.map(|span| format!("00-{}-{}-01", span.trace, span.id)).collect();
    assert_eq!(told, made);
    let ids: BTreeSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
    assert_eq!(ids.len(), spans.len(), "no id is there twice");
}

#[test]
fn a_chat_on_a_terminal_exports_what_was_answered_and_what_was_cancelled() {
    let home = home();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    let collector = Collector::new();
    let model = Server::new([Answer::text("hello"), Answer::Silence]);
    let chat = collector.of(home.bub(["chat"])).model(&model).terminal(80, 30);
    chat.waits();
    chat.say("hi").sees("hello");
    chat.waits();
    let first = collector.wait_for("turn");
    assert_eq!(first.attributes["bub.outcome"], "answered", "{first:?}");
    chat.say("take your time");
    model.wait_for(2);
    chat.press(["C-c"]);
    let cancelled = collector.until("a cancelled turn", |all| {
        all.spans().into_iter().find(|span| span.name == "turn" && span.attributes["bub.outcome"] == "cancelled")
    });
    assert_ne!(cancelled.trace, first.trace);
    chat.waits();
    chat.say(",quit").ends();
    let spans = of_trace(&collector.spans(), &cancelled.trace);
    for name in ["chat fake-model", "POST"] {
        assert_eq!(only(&spans, name).attributes["bub.outcome"], "cancelled", "{}", tree(&spans));
    }
}

/// Asks `mcp serve`, and waits for the answer.
#[track_caller]
fn ask(program: &mut Started<'_>, id: u64, method: &str, params: &Value) -> Value {
    program.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
    let begun = Instant::now();
    loop {
        let printed = program.printed();
        let messages = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(answer) = messages.into_iter().find(|message| message["id"] == id && message["result"].is_object())
        {
            return answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no answer to {id}: {printed}\n{}", program.told());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn tool_calls_and_turns_of_an_mcp_client_are_traces() {
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "buy milk").expect("a file to read");
    let collector = Collector::new();
    let model = Server::new([Answer::text("hello")]);
    let mut program = collector.of(home.bub(["mcp", "serve"])).model(&model).spoken_to().start();
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    ask(&mut program, 1, "initialize", &hello);
    program.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    let read = json!({ "name": "fs_read", "arguments": { "path": "notes.txt" } });
    let said = ask(&mut program, 2, "tools/call", &read);
    assert!(said.to_string().contains("buy milk"), "{said}");
    let said = ask(&mut program, 3, "tools/call", &json!({ "name": "run_turn", "arguments": { "message": "hi" } }));
    assert!(said.to_string().contains("hello"), "{said}");
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut traced = read.clone();
    traced["_meta"] = json!({ "traceparent": parent });
    ask(&mut program, 4, "tools/call", &traced);
    traced["_meta"] = json!({ "traceparent": parent.replace("4bf9", "zz") });
    ask(&mut program, 5, "tools/call", &traced);
    let finished = program.finish();
    assert_eq!(finished.code, Some(0), "{finished}");

    let spans = collector.spans();
    let traces = traces(&spans);
    assert_eq!(traces.len(), 4, "{}", tree(&spans));
    let (call, turn) = (tree(&traces[0]), tree(&traces[1]));
    assert!(call.contains("execute_tool fs.read\n") && call.contains("call-tool workspace\n"), "{call}");
    assert!(!call.contains("run-model"), "no model is asked: {call}");
    assert!(turn.contains("run-model-stream builtin\n") && turn.contains("        POST\n"), "{turn}");
    let request = only(&traces[1], "POST");
    let header = format!("00-{}-{}-01", request.trace, request.id);
    assert_eq!(model.requests()[0].header("traceparent"), Some(header.as_str()));
    let theirs = only(&traces[2], "turn");
    assert_eq!((&parent[3..35], &parent[36..52]), (theirs.trace.as_str(), theirs.parent.as_str()), "{theirs:?}");
    assert_eq!(theirs.kind, 2, "it is a server's");
    let own = only(&traces[3], "turn");
    assert!(own.parent.is_empty() && own.trace != theirs.trace, "what is no context begins a trace: {own:?}");
}

/// Four turns of a chat, each of which has to be answered soon.
#[track_caller]
fn answers_soon(what: &str, chat: Run<'_>) {
    let chat = chat.env("OTEL_BSP_SCHEDULE_DELAY", "10").env("OTEL_EXPORTER_OTLP_TIMEOUT", "60000");
    let mut chat = chat.spoken_to().start();
    for number in 0..4 {
        let begun = Instant::now();
        chat.say(&format!("ECHO:answer {number}"));
        chat.prints(&format!("answer {number}"));
        assert!(begun.elapsed() < SOON, "{what}: turn {number} took {:?}", begun.elapsed());
        // The exporter gets what that turn has made.
        std::thread::sleep(Duration::from_millis(30));
    }
    let begun = Instant::now();
    let finished = chat.finish();
    assert_eq!(finished.code, Some(0), "{what}: {finished}");
    assert!(begun.elapsed() < SOON, "{what}: the end took {:?}", begun.elapsed());
}

/// A home whose plugins are compiled.
fn warm() -> Home {
    let home = home();
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    home
}

#[test]
fn a_chat_does_not_wait_for_a_collector_that_is_away() {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).expect("a free port").port();
    let home = warm();
    answers_soon("away", home.bub(["chat"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}")));
}

#[test]
fn a_chat_does_not_wait_for_a_collector_that_is_slow_or_answers_at_length() {
    let home = warm();
    for habit in [Habit::Hangs, Habit::Dawdles, Habit::Lectures, Habit::Floods] {
        let collector = Collector::with_habit(habit);
        answers_soon(&format!("{habit:?}"), home.bub(["chat"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base()));
        assert!(!collector.received().is_empty(), "{habit:?}: it was asked");
    }
}
