//! Telemetry of `serve`: traces that a client began, metrics, logs, and several processes in one trace.

use super::collector::{Collector, only, tree};
use crate::home;
use bub_tests::listener::{Listener, response};
use bub_tests::{Answer, Home, Said, Serve, Server, programs};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A span of another program.
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn serving<'home>(home: &'home Home, collector: &Collector, model: Option<&Server>) -> Serve<'home> {
    let run = collector.of(home.bub(["serve", "--listen", "127.0.0.1:0"]));
    let run = match model {
        Some(model) => run.model(model),
        None => run,
    };
    Serve::start(run, &home.bub_home())
}

#[test]
fn a_turn_belongs_to_the_trace_of_its_client() {
    let home = home();
    let collector = Collector::new();
    let serve = serving(&home, &collector, None);
    let turn = json!({ "content": "ECHO:hi", "session_id": "s" });
    serve.ask("POST", "/v1/turns").header("traceparent", PARENT).json(&turn).send().ok();
    let span = collector.wait_for("turn");
    assert_eq!((span.trace.as_str(), span.parent.as_str()), (TRACE, "00f067aa0ba902b7"));
    assert_eq!(span.kind, 2, "it is a server's");

    // A client that does not record it, and one that lies.
    serve.ask("POST", "/v1/turns").header("traceparent", &PARENT.replace("-01", "-00")).json(&turn).send().ok();
    serve.ask("POST", "/v1/turns").header("traceparent", "00-zz-00f067aa0ba902b7-01").json(&turn).send().ok();
    let own = collector.until("a second turn", |all| {
        let turns = all.spans().into_iter().filter(|span| span.name == "turn").collect::<Vec<_>>();
        turns.into_iter().find(|span| span.trace != TRACE)
    });
    assert_eq!(own.parent, "");
    let turns = collector.spans().into_iter().filter(|span| span.name == "turn").count();
    assert_eq!(turns, 2, "the one that is not sampled is not sent");
}

#[test]
fn openai_clients_and_mcp_clients_have_traces_too() {
    let home = home();
    let collector = Collector::new();
    let serve = serving(&home, &collector, None);
    let chat = json!({ "model": "bub", "messages": [{ "role": "user", "content": "ECHO:hi" }] });
    serve.ask("POST", "/v1/chat/completions").header("traceparent", PARENT).json(&chat).send().ok();
    assert_eq!(collector.wait_for("turn").trace, TRACE);

    let other = PARENT.replace("4bf9", "5bf9");
    let revision = "2026-07-28";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "tape_info", "arguments": {}, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let asked = serve.ask("POST", "/mcp").header("traceparent", &other).header("mcp-protocol-version", revision);
    let asked = asked.header("mcp-method", "tools/call").header("mcp-name", "tape_info");
    let said = asked.header("accept", "application/json, text/event-stream").json(&call).send();
    let found = collector.until("the turn of a tool call", |all| {
        all.spans().into_iter().find(|span| span.name == "turn" && span.trace == TRACE.replace("4bf9", "5bf9"))
    });
    assert_eq!(found.parent, "00f067aa0ba902b7", "{said:?}");
    only(&collector.spans(), "execute_tool tape.info");
}

#[test]
fn two_processes_are_in_one_trace() {
    let (front, back) = (home(), home());
    let collector = Collector::new();
    let serve = serving(&back, &collector, None);
    let (address, token) = (serve.address(), serve.token().to_owned());
    // A model's server that asks another agent, and hands on what it was told of the trace.
    let model = Server::ruled(move |request| {
        let trace = request.header("traceparent").expect("the request is a part of a trace");
        let body = json!({ "content": "ECHO:from behind", "session_id": "s" }).to_string();
        let head = format!(
            "POST /v1/turns HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ntraceparent: {trace}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut behind = TcpStream::connect(address).expect("it listens");
        behind.write_all(head.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        behind.read_to_end(&mut answer).expect("it answers");
        let said = Said::parse(&answer).ok();
        Answer::text(said["model_output"].as_str().expect("the turn has an output"))
    });
    collector.of(front.run(["hi"])).model(&model).finish().says("[cli:local]\nfrom behind\n");
    collector.until("the turn behind", |all| {
        (all.spans().iter().filter(|span| span.name == "turn").count() == 2).then_some(())
    });
    let spans = collector.spans();
    let traces: BTreeSet<&str> = spans.iter().map(|span| span.trace.as_str()).collect();
    let processes: BTreeSet<&str> = spans.iter().map(|span| span.resource["service.instance.id"].as_str()).collect();
    assert_eq!((traces.len(), processes.len()), (1, 2), "{}", tree(&spans));
    let request = spans.iter().find(|span| span.name == "POST").expect("the request of the one in front");
    let behind = spans.iter().find(|span| span.name == "turn" && span.parent == request.id);
    assert!(behind.is_some(), "{}", tree(&spans));
}

#[test]
fn metrics_are_those_of_the_page() {
    let home = home();
    let collector = Collector::new();
    let serve = serving(&home, &collector, None);
    serve.post("/v1/turns", &json!({ "content": "ECHO:hi", "session_id": "s" }));
    let answered = |(labels, value): &(BTreeMap<String, String>, f64)| labels["outcome"] == "answered" && *value == 1.0;
    let turns = collector.until("a turn in the metrics", |all| {
        let mut metrics = all.metrics().into_iter();
        metrics.find(|metric| metric.name == "bub_turns_total" && metric.points.iter().any(answered))
    });
    assert!(turns.is_counter, "{turns:?}");
    let running = collector.metrics().into_iter().find(|metric| metric.name == "bub_turns_running");
    assert!(running.is_some_and(|metric| !metric.is_counter));

    let page = serve.ask("GET", "/metrics").send().body;
    let scraped: BTreeSet<String> = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next().map(str::to_owned))
        .collect();
    let exported: BTreeSet<String> = collector.metrics().into_iter().map(|metric| metric.name).collect();
    assert_eq!(scraped, exported);
}

#[test]
fn lines_of_the_log_name_the_span_that_they_were_written_in() {
    let home = home();
    home.plugin("fault_trap", programs::FAULT_TRAP).configure("[plugins.fault_trap]\non_fault = \"skip\"");
    let collector = Collector::new();
    let run = collector.of(home.bub(["--log-format", "json", "serve", "--listen", "127.0.0.1:0"]));
    let serve = Serve::start(run, &home.bub_home());
    serve.post("/v1/turns", &json!({ "content": "ECHO:hi", "session_id": "s" }));
    let turn = collector.wait_for("turn");
    let line = collector.until("the line about the fault", |all| {
        all.logs().into_iter().find(|line| line.text.contains("the turn goes on without it"))
    });
    assert_eq!((&line.trace, line.level.as_str()), (&turn.trace, "WARN"));
    let spans = collector.spans();
    let around = spans.iter().find(|span| span.id == line.span).expect("it is a span of the turn");
    assert_eq!(around.name, "build-prompt", "{}", tree(&spans));

    let mut stream = serve.ask("GET", "/v1/log").open();
    let said = read_until(&mut stream, "the turn goes on without it");
    assert!(said.contains(&format!("\"trace_id\":\"{}\"", turn.trace)), "{said}");
    drop(stream);
    let finished = serve.end();
    let printed = finished.stderr.lines().find(|line| line.contains("the turn goes on without it"));
    let printed: serde_json::Value = serde_json::from_str(printed.expect("it is in the log")).expect("it is JSON");
    assert_eq!(printed["trace_id"], turn.trace.as_str(), "{printed}");
    assert_eq!(printed["span_id"], line.span.as_str(), "{printed}");
}

/// Reads a stream until that text has come.
#[track_caller]
fn read_until(stream: &mut impl Read, text: &str) -> String {
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&read).contains(text) {
        let length = stream.read(&mut buffer).expect("the stream goes on");
        assert!(length > 0, "the stream has ended: {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&buffer[..length]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

#[test]
fn requests_of_plugins_have_the_trace_only_if_the_user_wants_it() {
    let home = home();
    let server = Listener::new(|_: &str| response(200, "", "page"));
    home.configure(&format!("[plugins.web]\ngrants = [\"http:{}\"]", server.base()));
    let collector = Collector::new();
    let fetch = json!({ "url": server.base() }).to_string();
    for wanted in [false, true] {
        home.configure(&format!("[telemetry]\npropagate_to_plugins = {wanted}"));
        let model = Server::new([Answer::tool_call("web_fetch", &fetch), Answer::text("done")]);
        let run =
            collector.of(home.run([format!("fetch {}", server.base()).as_str(), "--allow", "send"])).model(&model);
        run.finish().says("[cli:local]\ndone\n");
        let heard = server.heard().last().cloned().unwrap_or_default().to_ascii_lowercase();
        assert!(heard.starts_with("get / "), "{heard}");
        assert_eq!(heard.contains("traceparent: 00-"), wanted, "{heard}");
    }
}
