//! A policy, a resolver, a server, and a program that speaks with the proxy byte by byte.

use bub_egress::{Destination, HostRule, LookupFuture, Network, Resolve};
use bub_redact::Patterns;
use bub_sandbox_proxy::{Direction, Limits, Policy, PolicyFuture, Proxy, Verdict};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::timeout;

/// No test waits longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What the policy of a test was told.
#[derive(Debug, Default)]
pub struct Told {
    pub reached: BTreeMap<String, u64>,
    /// Sent, received.
    pub moved: BTreeMap<String, (u64, u64)>,
    pub refused: Vec<(String, String)>,
}

/// Rules; a host without one waits for a word of the test, if it is to.
pub struct Rules {
    allowed: Vec<HostRule>,
    asks: bool,
    secrets: Vec<&'static str>,
    pub told: Mutex<Told>,
}

impl Rules {
    pub fn new(allowed: &[&str]) -> Self {
        let allowed = allowed.iter().map(|rule| HostRule::parse(rule).unwrap_or_else(|error| panic!("{error}")));
        Self { allowed: allowed.collect(), asks: false, secrets: Vec::new(), told: Mutex::default() }
    }

    /// The owner is asked, and never answers.
    pub fn asking(self) -> Self {
        Self { asks: true, ..self }
    }

    pub fn knowing(self, secret: &'static str) -> Self {
        Self { secrets: vec![secret], ..self }
    }

    /// Sent to and received from a host.
    pub fn moved(&self, host: &str) -> (u64, u64) {
        self.told.lock().unwrap().moved.get(host).copied().unwrap_or_default()
    }

    pub fn refused(&self) -> Vec<(String, String)> {
        self.told.lock().unwrap().refused.clone()
    }
}

impl Policy for Rules {
    fn decide<'a>(&'a self, destination: &'a Destination) -> PolicyFuture<'a> {
        Box::pin(async move {
            let rules: Vec<&HostRule> = self.allowed.iter().filter(|rule| rule.matches(destination)).collect();
            if !rules.is_empty() {
                return Verdict::Allow { exact: rules.iter().any(|rule| rule.is_exact()) };
            }
            if self.asks {
                std::future::pending::<()>().await;
            }
            Verdict::Deny(format!("no rule names `{destination}`"))
        })
    }

    fn reached(&self, destination: &Destination) {
        *self.told.lock().unwrap().reached.entry(destination.to_string()).or_default() += 1;
    }

    fn moved(&self, destination: &Destination, direction: Direction, bytes: u64) {
        let mut told = self.told.lock().unwrap();
        let (sent, received) = told.moved.entry(destination.to_string()).or_default();
        match direction {
            Direction::Sent => *sent += bytes,
            Direction::Received => *received += bytes,
        }
    }

    fn refused(&self, destination: &Destination, why: &str) {
        self.told.lock().unwrap().refused.push((destination.to_string(), why.to_owned()));
    }

    fn known_secrets(&self) -> Vec<Patterns> {
        vec![Patterns::new(self.secrets.iter().flat_map(|secret| bub_redact::encodings(secret.as_bytes())))]
    }
}

/// `inner.test` is this machine, and `meta.test` a metadata service.
struct Names;

impl Resolve for Names {
    fn resolve(&self, name: &str) -> LookupFuture {
        let found = match name {
            "inner.test" | "localhost" => Some("127.0.0.1"),
            "meta.test" => Some("169.254.169.254"),
            _ => None,
        };
        let found = found.map(|address| vec![address.parse().expect("it is an address")]);
        Box::pin(async move { found.ok_or_else(|| std::io::Error::other("no such name")) })
    }
}

pub fn limits() -> Limits {
    Limits::default()
}

pub fn start(rules: Rules) -> (Proxy, Arc<Rules>) {
    start_with(rules, limits())
}

pub fn start_with(rules: Rules, limits: Limits) -> (Proxy, Arc<Rules>) {
    let rules = Arc::new(rules);
    let proxy = Proxy::new(rules.clone(), Network::new(Names), limits);
    (proxy, rules)
}

/// A connection of a program.
pub async fn program(proxy: &Proxy) -> UnixStream {
    UnixStream::connect(proxy.socket().expect("a socket")).await.expect("the proxy listens")
}

/// What the proxy says until it ends the connection.
pub async fn rest(stream: &mut UnixStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("it ends");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Exactly that many bytes.
pub async fn exactly(stream: &mut (impl AsyncReadExt + Unpin), count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    timeout(PATIENCE, stream.read_exact(&mut bytes)).await.expect("in time").expect("they come");
    bytes
}

/// A head, up to its empty line.
pub async fn head(stream: &mut UnixStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        match timeout(PATIENCE, stream.read_u8()).await.expect("in time") {
            Ok(byte) => bytes.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The whole answer to one request whose connection is to be closed.
pub async fn ask(proxy: &Proxy, request: &str) -> String {
    let mut stream = program(proxy).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

/// An opened tunnel, or the head of the refusal.
pub async fn tunnel(proxy: &Proxy, authority: &str) -> Result<UnixStream, String> {
    let mut stream = program(proxy).await;
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = head(&mut stream).await;
    if head.starts_with("HTTP/1.1 200") { Ok(stream) } else { Err(head) }
}

/// A server that sends back what it gets, and ends when its peer does.
pub async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
                let _ = writer.shutdown().await;
            });
        }
    });
    port
}

/// An HTTP server: it keeps the whole text of each connection, and answers every request without a body with `hello`.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<u8>>>::default();
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&kept)));
            }
        });
        Self { port, seen }
    }

    pub fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }
}

async fn answer(mut stream: TcpStream, seen: Arc<Mutex<Vec<u8>>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        seen.lock().unwrap().extend_from_slice(&buffer[..count]);
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        if body.len() < length.unwrap_or(0) || (is_chunked && !body.ends_with("0\r\n\r\n")) {
            continue;
        }
        request.clear();
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await.is_err() {
            return;
        }
    }
}
