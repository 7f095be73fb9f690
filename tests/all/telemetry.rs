//! Traces, metrics and logs by OTLP: a collector on loopback gets what a turn does.

mod bad_input;
mod collector;
mod commands;
mod content;
mod cost;
mod official;
mod served;
mod trees;
mod wire;

use crate::home;
use bub_tests::{Answer, Server};
use collector::{Collector, only, tree};

#[test]
fn nothing_is_exported_unless_it_is_configured() {
    let home = home();
    let collector = Collector::new();
    home.run(["ECHO:hi"]).env("OTEL_BSP_SCHEDULE_DELAY", "50").finish().says("[cli:local]\nhi\n");
    let disabled = collector.of(home.run(["ECHO:hi"])).env("OTEL_SDK_DISABLED", "true");
    disabled.finish().says("[cli:local]\nhi\n");
    assert!(collector.received().is_empty());
}

#[test]
fn a_turn_is_one_trace() {
    let home = home();
    let collector = Collector::new();
    let model = Server::new([Answer::counted("hello", 12)]);
    let run = collector.of(home.run(["hi"])).model(&model);
    let run = run.env("OTEL_SERVICE_NAME", "desk").env("OTEL_RESOURCE_ATTRIBUTES", "team=a%20b,service.version=9");
    run.finish().says("[cli:local]\nhello\n");
    let spans = collector.spans();
    let turn = only(&spans, "turn");
    assert!(spans.iter().all(|span| span.trace == turn.trace), "{}", tree(&spans));
    assert_eq!(turn.parent, "");
    let has = |name: &str, value: &str| assert_eq!(turn.attributes.get(name).map(String::as_str), Some(value));
    has("bub.channel", "cli");
    has("bub.session", "cli:local");
    has("bub.principal", "owner");
    has("bub.outcome", "answered");
    assert!(turn.attributes["bub.fuel"].parse::<u64>().is_ok_and(|fuel| fuel > 0), "{turn:?}");
    let of_process = |name: &str| turn.resource.get(name).map(String::as_str);
    assert_eq!(of_process("service.name"), Some("desk"));
    assert_eq!(of_process("team"), Some("a b"));
    assert_eq!(of_process("service.version"), Some("9"));
    assert_eq!(of_process("service.instance.id").map(str::len), Some(32));

    let chat = only(&spans, "chat fake-model");
    let expected = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "fake-model"),
        ("gen_ai.response.model", "fake-model"),
        ("gen_ai.response.finish_reasons", "[stop]"),
        ("gen_ai.usage.input_tokens", "12"),
        ("gen_ai.usage.output_tokens", "1"),
        ("gen_ai.conversation.id", "cli:local"),
        ("bub.plugin", "builtin"),
        ("bub.outcome", "answered"),
    ];
    for (name, value) in expected {
        assert_eq!(chat.attributes.get(name).map(String::as_str), Some(value), "{name}: {chat:?}");
    }
    assert_eq!(chat.kind, 3, "it is a client's");
    let request = only(&spans, "POST");
    assert_eq!(request.parent, chat.id);
    assert_eq!(request.attributes["http.response.status_code"], "200");
    assert_eq!(request.attributes["server.address"], "127.0.0.1");

    let hook = spans.iter().find(|span| span.name == "run-model-stream builtin").expect("the agent loop");
    for name in ["bub.fuel", "bub.memory"] {
        assert!(hook.attributes[name].parse::<u64>().is_ok_and(|used| used > 0), "{hook:?}");
    }
    assert_eq!(hook.attributes["bub.digest"].len(), 64, "{hook:?}");
    assert_eq!(hook.attributes["bub.outcome"], "returned", "{hook:?}");
}

#[test]
fn the_request_to_the_model_says_to_which_span_it_belongs() {
    let home = home();
    let collector = Collector::new();
    let model = Server::new([Answer::text("hello")]);
    collector.of(home.run(["hi"])).model(&model).finish().says("[cli:local]\nhello\n");
    let spans = collector.spans();
    let request = only(&spans, "POST");
    let header = format!("00-{}-{}-01", request.trace, request.id);
    assert_eq!(model.requests()[0].header("traceparent"), Some(header.as_str()));
    let quiet = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&quiet).finish().says("[cli:local]\nhello\n");
    assert_eq!(quiet.requests()[0].header("traceparent"), None, "without a collector nothing is said");
}

#[test]
fn a_sampler_that_records_nothing_sends_nothing() {
    let home = home();
    let collector = Collector::new();
    let model = Server::new([Answer::text("hello"), Answer::text("hello")]);
    let run = |name: &str, share: &str| {
        let run = collector.of(home.run(["hi"])).model(&model).env("OTEL_LOGS_EXPORTER", "none");
        run.env("OTEL_TRACES_SAMPLER", name).env("OTEL_TRACES_SAMPLER_ARG", share).finish();
    };
    run("always_off", "1");
    run("parentbased_traceidratio", "0");
    assert!(collector.received().is_empty(), "{:?}", collector.received());
    let header = model.requests()[0].header("traceparent").map(str::to_owned);
    assert!(header.as_ref().is_some_and(|header| header.ends_with("-00")), "others need not record it: {header:?}");
}

#[test]
fn config_toml_turns_it_on_with_headers_that_hold_secrets() {
    let home = home();
    let collector = Collector::new();
    home.configure(&format!(
        "[telemetry]\nendpoint = \"{}/\"\nheaders = {{ x-key = \"Bearer {{{{secret:otel}}}}\" }}\nlogs = false",
        collector.base()
    ));
    let run = |host: &str| {
        let run = home.run(["ECHO:hi"]).env("BUB_SECRET_OTEL", "otel-key-0123456789");
        run.env("BUB_SECRET_OTEL_HOSTS", host).finish()
    };
    run("127.0.0.1").says("[cli:local]\nhi\n");
    let received = collector.received();
    assert!(!received.is_empty() && received.iter().all(|request| request.path == "/v1/traces"), "{received:?}");
    assert_eq!(received[0].headers["x-key"], "Bearer otel-key-0123456789");
    assert_eq!(received[0].headers["content-type"], "application/x-protobuf");
    let elsewhere = run("otel.example");
    assert!(elsewhere.stderr.contains("nothing is exported: secret `otel`"), "{elsewhere}");
    assert_eq!(collector.received().len(), received.len());
}
