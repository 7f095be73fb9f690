//! An OpenTelemetry collector on loopback.

use super::wire::Message;
use bub_tests::Run;
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
    /// It takes it after three seconds.
    Dawdles,
    /// It takes it, with 10 MB of text.
    Lectures,
    /// It answers without end.
    Floods,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// A span, as tests look at it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: u64,
    pub(super) attributes: BTreeMap<String, String>,
    /// The status, if it is an error.
    pub(super) error: Option<String>,
    /// Attributes of the process.
    pub(super) resource: BTreeMap<String, String>,
    start: u64,
    end: u64,
}

/// A line of the log.
#[derive(Debug, Clone)]
pub(super) struct Logged {
    pub(super) level: String,
    pub(super) text: String,
    pub(super) trace: String,
    pub(super) span: String,
}

/// A metric at one moment.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) is_counter: bool,
    /// Labels and values.
    pub(super) points: Vec<(BTreeMap<String, String>, f64)>,
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
        for (resource, span) in self.records("/v1/traces") {
            spans.push(seen(&span, &resource));
        }
        spans.sort_by_key(|span| (span.start, u64::MAX - span.end));
        spans
    }

    /// All lines of the log so far.
    pub(super) fn logs(&self) -> Vec<Logged> {
        let line = |(_, line): (_, Message)| Logged {
            level: line.text(3),
            text: line.message(5).expect("a line has a text").text(1),
            trace: hex(&line.bytes(9).unwrap_or_default()),
            span: hex(&line.bytes(10).unwrap_or_default()),
        };
        self.records("/v1/logs").into_iter().map(line).collect()
    }

    /// The metrics of all requests so far.
    pub(super) fn metrics(&self) -> Vec<Measured> {
        self.records("/v1/metrics").into_iter().map(|(_, metric)| measured(&metric)).collect()
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

    /// What came under that path, each with the attributes of its process. All three kinds of requests are built alike.
    fn records(&self, path: &str) -> Vec<(BTreeMap<String, String>, Message)> {
        let mut records = Vec::new();
        for request in self.received().into_iter().filter(|request| request.path == path) {
            for of_resource in Message::read(&request.body).messages(1) {
                let resource = pairs(&of_resource.message(1).expect("it has a resource"), 1);
                for of_scope in of_resource.messages(2) {
                    assert_eq!(of_scope.message(1).expect("it has a scope").text(1), "bub-wasm");
                    records.extend(of_scope.messages(2).into_iter().map(|record| (resource.clone(), record)));
                }
            }
        }
        records
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

fn seen(span: &Message, resource: &BTreeMap<String, String>) -> Seen {
    let (start, end) = (span.number(7).expect("a start"), span.number(8).expect("an end"));
    assert!(start > 1_700_000_000_000_000_000 && end >= start, "{span:?}");
    let id = |field: u64| span.bytes(field).unwrap_or_default();
    assert_eq!((id(1).len(), id(2).len()), (16, 8), "{span:?}");
    let status = span.message(15).filter(|status| status.number(3) == Some(2));
    Seen {
        trace: hex(&id(1)),
        id: hex(&id(2)),
        parent: hex(&id(4)),
        name: span.text(5),
        kind: span.number(6).unwrap_or_default(),
        attributes: pairs(span, 9),
        error: status.map(|status| status.text(2)),
        resource: resource.clone(),
        start,
        end,
    }
}

fn measured(metric: &Message) -> Measured {
    let sum = metric.message(7);
    let is_counter = sum.is_some();
    if let Some(sum) = &sum {
        assert_eq!((sum.number(2), sum.number(3)), (Some(2), Some(1)), "cumulative, and it only grows: {metric:?}");
    }
    let data = sum.or_else(|| metric.message(5)).expect("a counter or a gauge");
    let point = |point: Message| {
        let float = point.number(4).map(f64::from_bits);
        let value = float.or_else(|| point.number(6).map(|whole| whole as f64)).expect("a point has a value");
        (pairs(&point, 7), value)
    };
    let points = data.messages(1).into_iter().map(point).collect();
    Measured { name: metric.text(1), is_counter, points }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Attributes as text; none has a name twice.
fn pairs(message: &Message, field: u64) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    for pair in message.messages(field) {
        let (key, value) = (pair.text(1), text(&pair.message(2).expect("an attribute has a value")));
        assert!(pairs.insert(key.clone(), value).is_none(), "`{key}` is there twice");
    }
    pairs
}

fn text(value: &Message) -> String {
    if let Some(list) = value.message(5) {
        return format!("[{}]", list.messages(1).iter().map(text).collect::<Vec<_>>().join(", "));
    }
    match (value.number(2), value.number(3), value.number(4)) {
        (None, None, None) => value.text(1),
        (Some(truth), _, _) => (truth == 1).to_string(),
        (_, Some(number), _) => (number as i64).to_string(),
        (_, _, Some(bits)) => f64::from_bits(bits).to_string(),
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
            Habit::Dawdles => {
                thread::sleep(Duration::from_secs(3));
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Habit::Lectures => {
                format!("HTTP/1.1 200 OK\r\ncontent-length: {0}\r\n\r\n{1}", 10 << 20, "x".repeat(10 << 20))
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
