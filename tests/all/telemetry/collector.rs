//! An OpenTelemetry collector on loopback, which reads what it gets with the messages of the OpenTelemetry project.

use bub_tests::Run;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// No test waits longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the collector does with each request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Habit {
    /// It takes it.
    Takes,
    /// It answers that status.
    Refuses(u16),
    /// It never answers.
    Hangs,
    /// It answers without end.
    Floods,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// A span, as tests look at it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: i32,
    pub(super) attributes: BTreeMap<String, String>,
    /// The status, if it is an error.
    pub(super) error: Option<String>,
    /// Attributes of the process.
    pub(super) resource: BTreeMap<String, String>,
    start: u64,
    end: u64,
}

/// The collector; its threads end with the test's process.
pub(super) struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    pub(super) fn new() -> Self {
        Self::with_habit(Habit::Takes)
    }

    pub(super) fn with_habit(habit: Habit) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = received.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let kept = kept.clone();
                // A client that hangs up is the test's business.
                thread::spawn(move || serve(connection, habit, &kept));
            }
        });
        Self { address, received }
    }

    /// The value for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub(super) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The program, with this collector.
    pub(super) fn of<'home>(&self, run: Run<'home>) -> Run<'home> {
        run.env("OTEL_EXPORTER_OTLP_ENDPOINT", self.base())
            .env("OTEL_BSP_SCHEDULE_DELAY", "50")
            .env("OTEL_METRIC_EXPORT_INTERVAL", "50")
    }

    /// All requests so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no thread panicked").clone()
    }

    /// All spans so far, in the order in which they began.
    pub(super) fn spans(&self) -> Vec<Seen> {
        let mut spans = Vec::new();
        for body in self.bodies("/v1/traces") {
            let request = ExportTraceServiceRequest::decode(&body[..]).expect("it is a request with spans");
            for of_resource in request.resource_spans {
                let resource = pairs(&of_resource.resource.expect("it has a resource").attributes);
                for of_scope in of_resource.scope_spans {
                    assert_eq!(of_scope.scope.expect("it has a scope").name, "bub-wasm");
                    spans.extend(of_scope.spans.into_iter().map(|span| seen(span, &resource)));
                }
            }
        }
        spans.sort_by_key(|span| (span.start, u64::MAX - span.end));
        spans
    }

    /// All lines of the log so far.
    pub(super) fn logs(&self) -> Vec<LogRecord> {
        let request = |body: Vec<u8>| ExportLogsServiceRequest::decode(&body[..]).expect("it is a request with logs");
        let resources = self.bodies("/v1/logs").into_iter().flat_map(|body| request(body).resource_logs);
        resources.flat_map(|resource| resource.scope_logs).flat_map(|scope| scope.log_records).collect()
    }

    /// The metrics of all requests so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let request = |body: Vec<u8>| ExportMetricsServiceRequest::decode(&body[..]).expect("it has metrics");
        let resources = self.bodies("/v1/metrics").into_iter().flat_map(|body| request(body).resource_metrics);
        resources.flat_map(|resource| resource.scope_metrics).flat_map(|scope| scope.metrics).collect()
    }

    /// Waits until that holds of what came.
    #[track_caller]
    pub(super) fn until<T>(&self, what: &str, holds: impl Fn(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(value) = holds(self) {
                return value;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} did not come: {}", tree(&self.spans()));
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for a span of that name.
    #[track_caller]
    pub(super) fn wait_for(&self, name: &str) -> Seen {
        self.until(&format!("a span `{name}`"), |all| all.spans().into_iter().find(|span| span.name == name))
    }

    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        self.received().into_iter().filter(|request| request.path == path).map(|request| request.body).collect()
    }
}

/// The only span of that name.
#[track_caller]
pub(super) fn only<'a>(spans: &'a [Seen], name: &str) -> &'a Seen {
    let found: Vec<&Seen> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "one span `{name}`:\n{}", tree(spans));
    found[0]
}

/// The names of the spans, each below the one that it is in.
pub(super) fn tree(spans: &[Seen]) -> String {
    fn add(text: &mut String, spans: &[Seen], parent: &str, depth: usize) {
        for span in spans.iter().filter(|span| span.parent == parent) {
            text.push_str(&format!("{}{}\n", "  ".repeat(depth), span.name));
            add(text, spans, &span.id, depth + 1);
        }
    }
    let mut text = String::new();
    let is_root = |span: &&Seen| !spans.iter().any(|other| other.id == span.parent);
    let mut roots: Vec<&str> = spans.iter().filter(is_root).map(|span| span.parent.as_str()).collect();
    roots.dedup();
    roots.into_iter().for_each(|root| add(&mut text, spans, root, 0));
    text
}

fn seen(span: Span, resource: &BTreeMap<String, String>) -> Seen {
    assert!(span.start_time_unix_nano > 1_700_000_000_000_000_000, "{span:?}");
    assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
    assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8), "{span:?}");
    Seen {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        name: span.name,
        kind: span.kind,
        attributes: pairs(&span.attributes),
        error: span.status.filter(|status| status.code == 2).map(|status| status.message),
        resource: resource.clone(),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Attributes as text; none has a name twice.
pub(super) fn pairs(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    for KeyValue { key, value, .. } in attributes {
        let value = text(value.as_ref().expect("an attribute has a value"));
        assert!(pairs.insert(key.clone(), value).is_none(), "`{key}` is there twice");
    }
    pairs
}

fn text(value: &AnyValue) -> String {
    match value.value.as_ref().expect("a value has a type") {
        Value::StringValue(text) => text.clone(),
        Value::BoolValue(value) => value.to_string(),
        Value::IntValue(value) => value.to_string(),
        Value::DoubleValue(value) => value.to_string(),
        Value::ArrayValue(list) => format!("[{}]", list.values.iter().map(text).collect::<Vec<_>>().join(", ")),
        other => panic!("no attribute has such a value: {other:?}"),
    }
}

fn serve(connection: TcpStream, habit: Habit, kept: &Mutex<Vec<Received>>) {
    let Ok(mut writer) = connection.try_clone() else { return };
    let mut reader = BufReader::new(connection);
    while let Some(received) = read(&mut reader) {
        kept.lock().expect("no thread panicked").push(received);
        let answer = match habit {
            Habit::Takes => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(),
            Habit::Refuses(status) => format!("HTTP/1.1 {status} no\r\ncontent-length: 2\r\n\r\nno"),
            Habit::Hangs => {
                // Comes back when the client hangs up.
                let _ = reader.fill_buf();
                return;
            }
            Habit::Floods => {
                let _ = writer.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while writer.write_all(&[b'x'; 1 << 16]).is_ok() {}
                return;
            }
        };
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received { path, headers, body })
}
