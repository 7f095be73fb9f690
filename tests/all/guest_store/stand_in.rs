//! A server that keeps tapes, as `guests/tapes-http/README.md` says, over a store of the host's own. It can misbehave.

mod searching;

use bub_tape::{Batch, Commit, Draft, Entry, Error, Lookup, Outcome, Reset, Store};
use bub_tests::listener::{Listener, response};
pub use searching::Searching;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Bytes of entries in one answer: little, so that pages end early.
const PAGE: usize = 64 << 10;

/// How the server handles one request.
#[derive(Clone, Debug, PartialEq)]
pub enum Mood {
    /// Correctly.
    Well,
    /// Hangs up without doing anything.
    HangUp,
    /// Does it, and hangs up.
    LoseReply,
    /// Refuses with that status.
    Status(u16),
    /// Says this with status 200.
    Say(String),
    /// Takes its time.
    Slow(Duration),
}

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    pub body: String,
}

/// The server; its threads end with the test's process.
pub struct StandIn {
    listener: Listener,
    shared: Arc<Shared>,
}

/// The mood for each request.
type Moods = Box<dyn FnMut(&Asked) -> Mood + Send>;

struct Shared {
    store: Arc<dyn Store>,
    token: Option<String>,
    mood: Mutex<Moods>,
    searching: Mutex<Searching>,
    asked: Mutex<Vec<Asked>>,
    /// The answers to writes that have no key on the tape.
    answered: Mutex<HashMap<String, String>>,
    /// Held while a write is checked and done.
    writing: Mutex<()>,
}

impl StandIn {
    /// Serves that store, only to requests with the token if one is given.
    pub fn new(store: Arc<dyn Store>, token: Option<&str>) -> Self {
        let shared = Arc::new(Shared {
            store,
            token: token.map(str::to_owned),
            mood: Mutex::new(Box::new(|_| Mood::Well)),
            searching: Mutex::new(Searching::Plainly),
            asked: Mutex::default(),
            answered: Mutex::default(),
            writing: Mutex::default(),
        });
        let serving = shared.clone();
        Self { listener: Listener::new(move |request| serving.answer(request)), shared }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base(&self) -> String {
        self.listener.base()
    }

    /// From here on it is as `mood` says of each request.
    pub fn moody(&self, mood: impl FnMut(&Asked) -> Mood + Send + 'static) {
        *self.shared.mood.lock().unwrap() = Box::new(mood);
    }

    /// From here on it looks for entries in that way.
    pub fn searches(&self, how: Searching) {
        *self.shared.searching.lock().unwrap() = how;
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// All entries of a tape.
    pub fn tape(&self, name: &str) -> Vec<Entry> {
        wait(self.shared.store.read(name, 0, usize::MAX)).unwrap()
    }

    pub fn store(&self) -> Arc<dyn Store> {
        self.shared.store.clone()
    }
}

/// On a thread without a runtime.
fn wait<T: Send>(future: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let wait = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
        scope.spawn(wait).join().unwrap()
    })
}

impl Asked {
    fn parse(request: &str) -> Self {
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
        Self { method, path, headers, body: body.to_owned() }
    }

    pub fn is_write(&self) -> bool {
        self.method == "POST"
    }

    /// Whether it writes entries, and does not only ask whether it could.
    pub fn writes_entries(&self) -> bool {
        self.is_write() && self.body.contains("\n{\"id\": ")
    }
}

/// Status, headers and body.
type Answer = (u16, String, String);

fn refusal(status: u16, message: impl Into<String>) -> Answer {
    (status, String::new(), json!({ "error": { "message": message.into() } }).to_string())
}

impl Shared {
    fn answer(&self, request: &str) -> String {
        let asked = Asked::parse(request);
        self.asked.lock().unwrap().push(asked.clone());
        let mood = (self.mood.lock().unwrap())(&asked);
        match mood {
            Mood::HangUp => return String::new(),
            Mood::Status(status) => return response(status, "", ""),
            Mood::Say(body) => return response(200, "", &body),
            Mood::Slow(time) => std::thread::sleep(time),
            Mood::Well | Mood::LoseReply => {}
        }
        let (status, headers, body) = self.serve(&asked);
        if mood == Mood::LoseReply { String::new() } else { response(status, &headers, &body) }
    }

    fn serve(&self, asked: &Asked) -> Answer {
        if let Some(token) = &self.token
            && asked.headers.get("authorization") != Some(&format!("Bearer {token}"))
        {
            return refusal(401, "who are you");
        }
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let query: HashMap<&str, String> =
            query.split('&').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key, decode(value))).collect();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let served = match (asked.method.as_str(), parts.as_slice()) {
            ("POST", ["v1", "tapes", tape, "entries"]) => return self.write(tape, asked),
            ("GET", ["v1", "tapes", tape, "entries"]) => self.page(tape, &query),
            ("GET", ["v1", "tapes", tape, "newest"]) => self.newest(tape, &query),
            ("GET", ["v1", "tapes", tape, "query"]) => match *self.searching.lock().unwrap() {
                Searching::Not => return refusal(404, "there is no such path"),
                Searching::Plainly => self.look_plainly(tape, &query),
                Searching::Served => self.look(tape, &query),
            },
            ("GET", ["v1", "tapes", tape, "sidecars"]) => {
                wait(self.store.sidecars(tape)).map(|names| self::names(names, &query))
            }
            ("GET", ["v1", "tapes", tape, "archive-name"]) => wait(self.store.archive_name(tape))
                .map(|name| (200, String::new(), json!({ "name": name }).to_string())),
            ("GET", ["v1", "tapes"]) => {
                let max = number(&query, "max").unwrap_or(0) as usize;
                let listed = wait(self.store.list(query.get("after").map(String::as_str), max));
                listed.map(|names| self::names(names, &query))
            }
            _ => return refusal(404, format!("there is no `{path}`")),
        };
        served.unwrap_or_else(refused)
    }

    fn page(&self, tape: &str, query: &HashMap<&str, String>) -> Result<Answer, Error> {
        let max = number(query, "max").unwrap_or(0) as usize;
        // One more tells whether there are more.
        let mut entries = match number(query, "after") {
            Some(after) => wait(self.store.read(tape, after, max + 1))?,
            None => {
                let mut tail = wait(self.store.tail(tape, number(query, "before"), max + 1))?;
                tail.reverse();
                tail
            }
        };
        let found = entries.len();
        let mut bytes = 0;
        let fitting = entries.iter().take(max).take_while(|entry| {
            let first = bytes == 0;
            bytes += entry.line().len() + 1;
            first || bytes <= PAGE
        });
        let fitting = fitting.count();
        entries.truncate(fitting);
        if !query.contains_key("after") {
            entries.reverse();
        }
        let lines: String = entries.iter().map(|entry| entry.line() + "\n").collect();
        let more = if found > fitting && max > 0 { "bub-more: true\r\n" } else { "bub-more: false\r\n" };
        Ok((200, more.to_owned(), lines))
    }

    fn newest(&self, tape: &str, query: &HashMap<&str, String>) -> Result<Answer, Error> {
        let lookup = match (query.get("kind"), query.get("name")) {
            (Some(kind), Some(name)) => Lookup::Named { kind: kind.clone(), name: name.clone() },
            (Some(kind), None) => Lookup::Kind(kind.clone()),
            _ => Lookup::Phase,
        };
        let found = wait(self.store.newest(tape, &lookup, number(query, "before")))?;
        Ok((200, String::new(), found.map_or_else(String::new, |entry| entry.line() + "\n")))
    }

    fn write(&self, tape: &str, asked: &Asked) -> Answer {
        let _one_at_a_time = self.writing.lock().unwrap();
        let key = asked.headers.get("idempotency-key").cloned().unwrap_or_default();
        if let Some(before) = self.answered.lock().unwrap().get(&key) {
            return (200, String::new(), before.clone());
        }
        let Some(write) = Write::parse(&asked.body) else {
            return refusal(400, "the body is no write");
        };
        if write.heads.iter().any(|head| !head.tape.starts_with(tape)) {
            return refusal(400, "the write is for another tape");
        }
        match self.store(tape, &write, asked) {
            Ok(answer @ (200, ..)) if write.key.is_none() => {
                self.answered.lock().unwrap().insert(key, answer.2.clone());
                answer
            }
            Ok(answer) => answer,
            Err(error) => refused(error),
        }
    }

    fn store(&self, tape: &str, write: &Write, asked: &Asked) -> Result<Answer, Error> {
        let said = |outcome| Ok((200, String::new(), json!({ "outcome": outcome }).to_string()));
        if write.key.is_none()
            && write.heads.iter().all(|head| head.reset.is_none() && head.entries.is_empty() && head.last.is_none())
        {
            wait(self.store.check_writable(tape))?;
            return said("stored");
        }
        let own = write.heads.iter().find(|head| head.tape == tape).and_then(|head| head.last);
        if asked.headers.get("if-match").cloned() != own.map(|last| format!("\"{last}\"")) {
            return Ok(refusal(400, "`If-Match` and the body do not say the same"));
        }
        let all_reset = write.heads.iter().any(|head| head.tape == tape && head.reset.is_some());
        let mut lasts = Vec::new();
        for head in &write.heads {
            lasts.push(wait(self.store.last_id(&head.tape))?);
        }
        let conflict = || Ok((412, String::new(), json!({ "last": lasts }).to_string()));
        let mut batches = Vec::new();
        for (head, now) in write.heads.iter().zip(&lasts) {
            let emptied = all_reset || head.reset.is_some();
            let first = if emptied { 0 } else { head.last.unwrap_or(0) };
            let kept = head.reset.iter().flat_map(|(_, kept)| kept);
            let in_order = |after: u64, entries: &mut dyn Iterator<Item = &Entry>| {
                (after + 1..).zip(entries).all(|(id, entry)| entry.id == id)
            };
            let kept_in_order = in_order(head.last.unwrap_or(0), &mut kept.into_iter());
            if !kept_in_order || !in_order(first, &mut head.entries.iter()) {
                return Ok(refusal(400, "the ids do not follow"));
            }
            // The store counts from 0 on a tape that is emptied.
            if emptied && head.last.is_some_and(|last| last != *now) {
                return conflict();
            }
            let drafts = |entries: &[Entry]| entries.iter().cloned().map(Draft::from).collect::<Vec<_>>();
            batches.push(Batch {
                tape: head.tape.clone(),
                reset: head
                    .reset
                    .as_ref()
                    .map(|(archive, kept)| Reset { archive: archive.clone(), kept: drafts(kept) }),
                drafts: drafts(&head.entries),
                expect_last: head.last.filter(|_| !emptied),
            });
        }
        match wait(self.store.commit(Commit { key: write.key.clone(), batches })) {
            Ok(Outcome::Stored(_)) => said("stored"),
            Ok(Outcome::Already) => said("already"),
            Err(Error::Conflict { .. }) => conflict(),
            Err(error) => Err(error),
        }
    }
}

/// The body of a write.
struct Write {
    key: Option<String>,
    heads: Vec<Head>,
}

struct Head {
    tape: String,
    last: Option<u64>,
    /// The archive's name, and what goes there.
    reset: Option<(Option<String>, Vec<Entry>)>,
    entries: Vec<Entry>,
}

impl Write {
    fn parse(body: &str) -> Option<Self> {
        let mut lines = body.lines();
        let first: Value = serde_json::from_str(lines.next()?).ok()?;
        let mut heads = Vec::new();
        for _ in 0..first["batches"].as_u64()? {
            let head: Value = serde_json::from_str(lines.next()?).ok()?;
            let mut take = |count: &Value| -> Option<Vec<Entry>> {
                (0..count.as_u64()?).map(|_| Entry::parse(lines.next()?)).collect()
            };
            let reset = match &head["reset"] {
                Value::Null => None,
                reset => Some((reset["archive"].as_str().map(str::to_owned), take(&reset["kept"])?)),
            };
            let tape = head["tape"].as_str()?.to_owned();
            heads.push(Head { tape, last: head["last"].as_u64(), reset, entries: take(&head["entries"])? });
        }
        lines.next().is_none().then_some(())?;
        Some(Self { key: first["key"].as_str().map(str::to_owned), heads })
    }
}

fn refused(error: Error) -> Answer {
    let status = if matches!(error, Error::InvalidInput(_)) { 400 } else { 500 };
    refusal(status, error.to_string())
}

fn names(names: Vec<String>, query: &HashMap<&str, String>) -> Answer {
    let max = number(query, "max").unwrap_or(0) as usize;
    let behind = names.into_iter().filter(|name| query.get("after").is_none_or(|after| name > after));
    (200, String::new(), json!({ "names": behind.take(max).collect::<Vec<_>>() }).to_string())
}

fn number(query: &HashMap<&str, String>, key: &str) -> Option<u64> {
    query.get(key)?.parse().ok()
}

fn decode(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).unwrap_or(0) as u8;
        bytes.push(match byte {
            b'%' => 16 * digit(rest.next()) + digit(rest.next()),
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}
