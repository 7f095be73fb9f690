//! A server that gives prepared answers in order, the last one again and again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The answer to one request, byte for byte.
#[derive(Clone)]
pub struct Answer {
    bytes: String,
    then: Then,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    KeepAlive,
    /// As [`Then::KeepAlive`], after a body of which every byte was a packet of its own.
    Dribble,
    Close,
    Hang,
}

impl Answer {
    /// A response with a body and, each ending in `\r\n`, further headers.
    pub fn new(status: u16, headers: &str, body: &str) -> Answer {
        let length = body.len();
        let bytes = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}");
        Answer { bytes, then: Then::KeepAlive }
    }

    pub fn json(status: u16, body: &str) -> Answer {
        Answer::new(status, "content-type: application/json\r\n", body)
    }

    /// A stream of those documents, with `[DONE]` behind them.
    pub fn events(documents: &[&str]) -> Answer {
        let body: String =
            documents.iter().chain(&["[DONE]"]).map(|document| format!("data: {document}\n\n")).collect();
        Answer::new(200, "content-type: text/event-stream\r\n", &body)
    }

    /// The same answer, a byte at a time.
    pub fn dribbled(self) -> Answer {
        Answer { then: Then::Dribble, ..self }
    }

    /// A stream of `body` that ends by closing the connection.
    pub fn cut(body: &str) -> Answer {
        let bytes = format!("HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n{body}");
        Answer { bytes, then: Then::Close }
    }

    /// A stream of `body` behind which nothing ever comes.
    pub fn hang(body: &str) -> Answer {
        Answer { then: Then::Hang, ..Answer::cut(body) }
    }
}

/// One request as it arrived.
#[derive(Clone)]
pub struct Seen {
    pub head: String,
    pub body: String,
}

pub struct Server {
    port: u16,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    answers: Vec<Answer>,
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    /// Connections on which the client left before it was served.
    left: AtomicUsize,
}

impl Server {
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            answers: answers.into_iter().collect(),
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
        });
        let accepting = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepting.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&accepting)));
            }
        });
        Server { port, shared, task }
    }

    pub fn base(&self) -> String {
        format!("http://{}/v1", self.host())
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub fn requests(&self) -> usize {
        self.shared.seen.lock().unwrap().len()
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    pub fn left(&self) -> usize {
        self.shared.left.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    while let Some(seen) = read(&mut stream).await {
        let number = {
            let mut all = shared.seen.lock().unwrap();
            all.push(seen);
            all.len() - 1
        };
        let last = shared.answers.len() - 1;
        let answer = &shared.answers[number.min(last)];
        let size = if answer.then == Then::Dribble { 1 } else { usize::MAX };
        for piece in answer.bytes.as_bytes().chunks(size) {
            if stream.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        match answer.then {
            Then::KeepAlive | Then::Dribble => {}
            Then::Close => return,
            Then::Hang => {
                // Nothing more is sent by a client that waits: the end of its stream means that it has left.
                let _ = stream.read(&mut [0]).await;
                shared.left.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).unwrap();
    Some(Seen { head, body })
}
