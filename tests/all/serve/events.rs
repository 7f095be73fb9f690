//! Information about a server: events, metrics, hooks, plugins.

use super::{echo, say, serve, token};
use crate::home;
use bub_runtime::host::RuntimeEvent;
use bub_tests::{Answer, Server, programs};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;

/// Reads events until one has that name, and gives all of them.
#[track_caller]
fn until(reader: &mut BufReader<TcpStream>, wanted: &str) -> Vec<(String, Value)> {
    let (mut events, mut name) = (Vec::new(), String::new());
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended: {events:?}");
        if let Some(event) = line.trim_end().strip_prefix("event: ") {
            name = event.to_owned();
        } else if let Some(data) = line.trim_end().strip_prefix("data: ") {
            events.push((name.clone(), serde_json::from_str(data).unwrap()));
            if name == wanted {
                return events;
            }
        }
    }
}

#[test]
fn events_are_streamed_to_tokens_with_the_matching_scope() {
    let home = home();
    home.plugin("odd_tools", programs::ODD_TOOLS);
    home.configure("[plugins.odd_tools]\ngrants = [\"tools:*\"]");
    let theirs = token(&home, "theirs", "\"read\"", "theirs/");
    let model = Server::new([Answer::tool_call("plain", "{}"), Answer::text("done"), Answer::text("done")]);
    let serve = serve(&home, &model);
    let mut all = BufReader::new(serve.ask("GET", "/v1/events").open());
    let mut some = BufReader::new(serve.ask("GET", "/v1/events").token(&theirs).open());
    until(&mut all, "ready");
    until(&mut some, "ready");
    say(&serve, "mine/1", "go");
    say(&serve, "theirs/1", "go");
    let told = until(&mut all, "turn-ends");
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    let known = ["message-taken", "turn-begins", "tool-begins", "tool-ends", "turn-ends"];
    let names: Vec<&str> = names.into_iter().filter(|name| known.contains(name)).collect();
    assert_eq!(names, known, "{told:?}");
    assert!(told.iter().all(|(_, data)| data["session_id"] == "mine/1"), "{told:?}");
    let tool = told.iter().find(|(name, _)| name == "tool-begins").unwrap();
    assert_eq!(tool.1["tool"], "plain");
    let told = until(&mut some, "turn-ends");
    assert!(told.iter().all(|(_, data)| data["session_id"] == "theirs/1"), "{told:?}");
}

#[test]
fn metrics_count_turns_tokens_hooks_and_faults() {
    let home = home();
    home.plugin("panicker", programs::FAULT_PANIC);
    home.configure("[plugins.panicker]\non_fault = \"skip\"");
    let model = Server::new([Answer::counted("done", 7), Answer::refusal("cross")]);
    let serve = serve(&home, &model);
    say(&serve, "http:a", "one");
    assert!(say(&serve, "http:a", "two")["error"].is_object());
    let page = serve.ask("GET", "/metrics").send();
    assert_eq!(page.status, 200);
    let value = |name: &str| -> f64 {
        let line = page.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no `{name}` in\n{}", page.body)).parse().unwrap()
    };
    assert!((value("bub_turns_total{outcome=\"answered\"}") - 1.0).abs() < 0.1);
    assert!((value("bub_turns_total{outcome=\"failed\"}") - 1.0).abs() < 0.1);
    assert!((value("bub_tokens_total{kind=\"prompt\"}") - 7.0).abs() < 0.1);
    assert!((value("bub_turns_running") - 0.0).abs() < 0.1);
    assert!(value("bub_hook_calls_total{plugin=\"builtin\",hook=\"run-model-stream\"}") >= 2.0);
    let faults = page.body.lines().filter(|line| line.starts_with("bub_hook_faults_total{plugin=\"panicker\""));
    assert!(faults.clone().any(|line| !line.ends_with(" 0")), "{}", page.body);
    serve.strange("GET", "/metrics").send().refused(401, "a token is needed");
}

#[test]
fn hooks_and_plugins_are_returned_as_by_the_commands() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for (path, command) in [("/v1/hooks", vec!["hooks", "--json"]), ("/v1/plugins", vec!["plugin", "list", "--json"])] {
        let printed = home.bub(command).model(&model).finish();
        let printed: Value = serde_json::from_str(&printed.stdout).unwrap();
        let mut answered = serve.get(path);
        // What only a process that runs can know.
        let plugins = answered.get_mut("plugins").and_then(Value::as_array_mut);
        for plugin in plugins.into_iter().flatten() {
            let plugin = plugin.as_object_mut().unwrap();
            assert!(plugin.remove("stats").is_some() && plugin.remove("has_previous").is_some());
        }
        assert_eq!(answered, printed);
    }
}

#[tokio::test]
async fn a_slow_reader_gets_the_number_of_missed_events() {
    let bus = bub_runtime::host::EventBus::default();
    let mut subscriber = bus.subscribe();
    for n in 0..1500 {
        bus.publish(RuntimeEvent::TurnBegins, &format!("session {n}"));
    }
    assert_eq!(subscriber.next().await.unwrap_err(), 476);
    assert_eq!(subscriber.next().await.unwrap().session, "session 476");
}

#[test]
fn readers_of_events_and_of_the_log_hold_up_neither_each_other_nor_the_turns() {
    const TURNS: usize = 24;
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    std::thread::scope(|scope| {
        for path in ["/v1/events", "/v1/log"].repeat(4) {
            let mut reader = BufReader::new(serve.ask("GET", path).open());
            until(&mut reader, "ready");
            scope.spawn(move || {
                // The log ends with the server.
                let mut ended = 0;
                let mut line = String::new();
                while ended < TURNS && reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                    ended += usize::from(line.trim_end() == "event: turn-ends");
                    line.clear();
                }
                assert!(path == "/v1/log" || ended == TURNS, "{ended} turns ended");
            });
        }
        let turns: Vec<_> = (0..TURNS)
            .map(|turn| {
                let serve = &serve;
                scope.spawn(move || say(serve, &format!("http:{turn}"), "hello"))
            })
            .collect();
        turns.into_iter().for_each(|turn| assert_eq!(turn.join().unwrap()["model_output"], "you said: hello"));
        assert_eq!(serve.strange("GET", "/healthz").send().status, 200);
        serve.program().terminate();
    });
}

#[test]
fn events_at_an_interval_come_in_batches_of_the_newest_and_count_the_missed() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    serve.ask("GET", "/v1/events?interval=0").send().refused(400, "from 1 to 10000");
    let mut events = BufReader::new(serve.ask("GET", "/v1/events?interval=10000").open());
    until(&mut events, "ready");
    // The first batch comes at once, and all that follows waits for the second.
    say(&serve, "http:s", "first");
    until(&mut events, "message-taken");
    for _ in 0..30 {
        say(&serve, "http:s", "more");
    }
    let told = until(&mut events, "missed");
    assert!(told.len() < 10, "{told:?}");
    let missed = told.last().unwrap().1["count"].as_u64().unwrap();
    let mut rest = Vec::new();
    while rest.len() < 64 {
        rest.push(until(&mut events, "turn-ends"));
        if rest.iter().map(Vec::len).sum::<usize>() >= 64 {
            break;
        }
    }
    let newest: usize = rest.iter().map(Vec::len).sum();
    assert_eq!(newest, 64, "{rest:?}");
    // Three events a turn, of which the first batch had a few.
    assert!((20..=29).contains(&missed), "{missed}");
}
