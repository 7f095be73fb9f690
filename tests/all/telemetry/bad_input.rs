//! Collectors that are away, slow or hostile, and settings that are wrong: a turn goes on without them.

use super::collector::{Collector, Habit};
use crate::home;
use bub_tests::{Finished, Home};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Far more than a turn takes, and far less than the timeout of a request to the collector.
const SOON: Duration = Duration::from_secs(8);

/// Runs a turn with that collector.
#[track_caller]
fn answers_with(home: &Home, endpoint: &str) -> Finished {
    // Compiled code is there before.
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    let begun = Instant::now();
    let run = home.run(["ECHO:hi"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    let finished = run.env("OTEL_EXPORTER_OTLP_TIMEOUT", "60000").finish().says("[cli:local]\nhi\n");
    assert!(begun.elapsed() < SOON, "it took {:?}\n{finished}", begun.elapsed());
    finished
}

#[test]
fn a_collector_that_is_away_is_said_once_and_delays_nothing() {
    let home = home();
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).expect("a free port").port();
    let finished = answers_with(&home, &format!("http://127.0.0.1:{port}"));
    let said: Vec<&str> = finished.stderr.lines().filter(|line| line.contains("takes no traces")).collect();
    assert_eq!(said.len(), 1, "{finished}");
    assert!(said[0].contains(&format!("the collector at `127.0.0.1:{port}`")), "{finished}");
}

#[test]
fn a_collector_that_hangs_fails_or_floods_delays_nothing() {
    for habit in [Habit::Hangs, Habit::Refuses(500), Habit::Refuses(503), Habit::Refuses(302), Habit::Floods] {
        let home = home();
        let collector = Collector::with_habit(habit);
        let finished = answers_with(&home, &collector.base());
        assert!(!collector.received().is_empty(), "{habit:?}: it was asked");
        if let Habit::Refuses(status) = habit {
            let line = format!("takes no traces: it answered {status}; turns go on without it");
            assert_eq!(finished.stderr.matches(&line).count(), 1, "{habit:?}: {finished}");
        }
    }
}

#[test]
fn a_server_counts_what_it_drops_and_says_so_once() {
    let home = home();
    let collector = Collector::with_habit(Habit::Refuses(500));
    let run = collector.of(home.bub(["serve", "--listen", "127.0.0.1:0"])).env("OTEL_LOGS_EXPORTER", "none");
    let serve = bub_tests::Serve::start(run.env("OTEL_METRICS_EXPORTER", "none"), &home.bub_home());
    for _ in 0..3 {
        let answered = serve.post("/v1/turns", &serde_json::json!({ "content": "ECHO:hi", "session_id": "s" }));
        assert_eq!(answered["model_output"], "hi", "{answered}");
        std::thread::sleep(Duration::from_millis(200));
    }
    let page = serve.ask("GET", "/metrics").send().body;
    let line = "bub_telemetry_records_total{outcome=\"dropped\"} ";
    let dropped = page.lines().find_map(|found| found.strip_prefix(line)).and_then(|count| count.parse::<u64>().ok());
    assert!(dropped.is_some_and(|dropped| dropped > 10), "{page}");
    let finished = serve.end();
    assert_eq!(finished.stderr.matches("takes no traces").count(), 1, "{finished}");
}

#[test]
fn a_wrong_key_of_config_toml_is_one_line() {
    let wrong = [
        ("endpoint = \"collector:4318\"", "`endpoint`: `collector` is spoken by no collector: use `https`"),
        ("endpoint = \"http://otel.example:4318\"", "what is exported would go to `otel.example` unencrypted"),
        ("endpoint = \"https://me:pass@otel.example\"", "it has a user name: use a header"),
        ("endpoint = \"\"", "`endpoint`: it is no address"),
        ("sampler = \"sometimes\"", "`sampler`: `sometimes` is none of `always_on`"),
        ("ratio = 2.0", "`ratio`: `2` is not between 0 and 1"),
        ("service_name = \" \"", "`service_name` is empty"),
        ("headers = { \"a b\" = \"x\" }", "`headers`: `a b` is not the name of a header"),
        ("headers = { key = \"a\\nb\" }", "`headers`: the value of `key` is too long or has a control character in it"),
        ("headers = { key = \"{{secret:\" }", "`headers`: the value of `key`"),
        ("endpiont = \"x\"", "there is no key `endpiont`; did you mean `endpoint`"),
    ];
    for (line, why) in wrong {
        let home = home();
        home.configure(&format!("[telemetry]\n{line}"));
        let finished = home.run(["ECHO:hi"]).finish();
        assert_eq!(finished.code, Some(1), "{line}: {finished}");
        let errors: Vec<&str> = finished.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(errors.len() == 1 && errors[0].contains(why), "{line}: {finished}");
    }
}

#[test]
fn a_wrong_variable_is_said_and_keeps_no_turn_from_running() {
    let collector = Collector::new();
    let wrong = [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "`grpc` is not spoken, only `http/protobuf`; nothing is exported"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel.example", "would go to `otel.example` unencrypted"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no-value", "a part of it is not `name=value`"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "`soon` is not between 10 and 3600000 milliseconds"),
        ("OTEL_TRACES_SAMPLER", "sometimes", "`sometimes` is none of `always_on`"),
        ("OTEL_TRACES_SAMPLER_ARG", "2", "`2` is not between 0 and 1"),
    ];
    for (name, value, why) in wrong {
        let home = home();
        let finished = collector.of(home.run(["ECHO:hi"])).env(name, value).finish().says("[cli:local]\nhi\n");
        assert_eq!(finished.stderr.matches(why).count(), 1, "{name}: {finished}");
    }
}

#[test]
fn a_workspace_cannot_turn_it_on() {
    let home = home();
    let collector = Collector::new();
    for file in [".env", ".bub/.env"] {
        let path = home.workspace().join(file);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        std::fs::write(path, format!("OTEL_EXPORTER_OTLP_ENDPOINT={}", collector.base())).expect("a file");
    }
    let config = format!("[telemetry]\nendpoint = \"{}\"", collector.base());
    for file in ["config.toml", ".bub/config.toml"] {
        std::fs::write(home.workspace().join(file), &config).expect("a file");
    }
    home.run(["ECHO:hi"]).finish().says("[cli:local]\nhi\n");
    assert!(collector.received().is_empty());
}

#[test]
fn doctor_says_whether_the_collector_answers() {
    let home = home();
    let says = |run: bub_tests::Run<'_>| run.finish().stdout;
    let off = says(home.bub(["doctor"]));
    assert!(off.contains("telemetry") && off.contains("is off; `endpoint` in `[telemetry]`"), "{off}");
    let (collector, broken) = (Collector::new(), Collector::with_habit(Habit::Refuses(404)));
    let on = says(collector.of(home.bub(["doctor"])));
    assert!(on.contains("takes it"), "{on}");
    assert!(collector.spans().is_empty() && collector.received().len() == 1, "it is asked, and told nothing");
    let wrong = says(broken.of(home.bub(["doctor"])));
    assert!(wrong.contains("does not take it: it answered 404; turns run without it"), "{wrong}");
}
