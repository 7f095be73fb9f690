//! The program while it serves, and requests to it, byte for byte.

use crate::{Run, Started};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// No test may wait longer for an answer than this.
const PATIENCE: Duration = Duration::from_secs(120);

/// `bub-wasm serve`, until it is dropped.
pub struct Serve<'home> {
    started: Option<Started<'home>>,
    address: SocketAddr,
    token: String,
}

impl<'home> Serve<'home> {
    /// Starts it: `run` is `serve --listen 127.0.0.1:0` in that home.
    #[track_caller]
    pub fn start(run: Run<'home>, bub_home: &Path) -> Self {
        let started = run.start();
        started.prints("the owner's token is in");
        let printed = started.printed();
        let addresses = printed.lines().filter_map(|line| line.strip_prefix("serving at "));
        let address = addresses.filter_map(|address| address.split_once("://")).map(|(_, address)| address).next();
        let address = address.and_then(|address| address.parse().ok()).expect("it says where it serves");
        let token = fs::read_to_string(bub_home.join("serve.token")).expect("it made a token").trim().to_owned();
        Self { started: Some(started), address, token }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The owner's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A request of the owner's.
    pub fn ask(&self, method: &str, path: &str) -> Ask<'_> {
        self.strange(method, path).header("authorization", &format!("Bearer {}", self.token))
    }

    /// A request without a token.
    pub fn strange(&self, method: &str, path: &str) -> Ask<'_> {
        let host = ("host".to_owned(), self.address.to_string());
        Ask { serve: self, method: method.to_owned(), path: path.to_owned(), headers: vec![host], body: None }
    }

    /// `GET` by the owner, which is answered.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path).send().ok()
    }

    /// `POST` of JSON by the owner, which is answered.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path).json(body).send().ok()
    }

    /// A connection, for what is no whole request.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound against hanging");
        stream
    }

    /// The program itself.
    pub fn program(&self) -> &Started<'home> {
        self.started.as_ref().expect("it runs")
    }

    /// Waits until it has ended by itself, and says what it left.
    pub fn gone(mut self) -> crate::Finished {
        self.started.take().expect("it runs").finish()
    }

    /// Ends it as the system does, at once.
    pub fn kill(self) {
        drop(self);
    }

    /// Ends it as a person does, and says what it left.
    pub fn end(mut self) -> crate::Finished {
        let started = self.started.take().expect("it runs");
        started.terminate();
        started.finish()
    }
}

impl Drop for Serve<'_> {
    fn drop(&mut self) {
        if let Some(started) = self.started.take() {
            started.kill();
        }
    }
}

/// A server and its home, which end together.
pub struct Served {
    /// Goes first.
    pub serve: Serve<'static>,
    /// Where it keeps what it keeps.
    pub home: crate::Home,
}

/// A request about to be sent.
pub struct Ask<'a> {
    serve: &'a Serve<'a>,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Ask<'_> {
    /// With that header, in place of one of its name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without that header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// With that token.
    pub fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// With these bytes.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// With that JSON.
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    /// Sends it, and reads the whole answer.
    #[track_caller]
    pub fn send(self) -> Said {
        let mut stream = self.open();
        let mut answer = Vec::new();
        // A server that rejects a long body early closes the connection before the rest.
        let _ = stream.read_to_end(&mut answer);
        Said::parse(&answer)
    }

    /// Sends it, and leaves the answer to be read.
    #[track_caller]
    pub fn open(self) -> TcpStream {
        let mut stream = self.serve.connect();
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).expect("it listens");
        // An answer may come before the body has gone.
        let _ = stream.write_all(self.body.as_deref().unwrap_or_default());
        stream
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Said {
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

impl Said {
    /// Takes a whole answer apart.
    #[track_caller]
    pub fn parse(answer: &[u8]) -> Self {
        let split = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8_lossy(&answer[..split]);
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("it has a status");
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
        let mut said = Self { status, headers, body: String::new() };
        let body = &answer[split + 4..];
        let body = match said.header("transfer-encoding") {
            Some("chunked") => pieces(body),
            _ => body.to_vec(),
        };
        said.body = String::from_utf8_lossy(&body).into_owned();
        said
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// It went well, and this is what was said.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// It was refused with that status, as JSON, with this in its sentence.
    #[track_caller]
    pub fn refused(&self, status: u16, naming: &str) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        let error = &self.json()["error"];
        let message = error["message"].as_str().unwrap_or_default();
        let is_line = !message.is_empty() && !message.contains('\n') && !message.ends_with('.');
        assert!(is_line && message.contains(naming), "expected one line with `{naming}`: {self:?}");
        assert!(error["type"].is_string() && error["code"].is_string(), "{self:?}");
        self
    }

    /// The events of a stream: names (empty where there are none) and data.
    pub fn events(&self) -> Vec<(String, String)> {
        let blocks = self.body.split("\n\n");
        let of = |block: &str, key: &str| {
            let lines = block.lines().filter_map(|line| line.strip_prefix(key)).map(str::trim_start);
            lines.collect::<Vec<_>>().join("\n")
        };
        let events = blocks.map(|block| (of(block, "event:"), of(block, "data:")));
        events.filter(|(_, data)| !data.is_empty()).collect()
    }
}

/// Puts the pieces of a body together.
fn pieces(mut rest: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&rest[..end]).ok().and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let Some(length) = length.filter(|length| *length > 0) else { break };
        let piece = &rest[end + 2..];
        whole.extend_from_slice(&piece[..length.min(piece.len())]);
        rest = piece.get(length + 2..).unwrap_or_default();
    }
    whole
}
