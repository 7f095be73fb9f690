//! A server that answers each request by a function of its text.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A step of an answer. The connection is kept after the last.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    Close,
}

impl Step {
    pub fn send(text: &str) -> Step {
        Step::Send(text.as_bytes().to_vec())
    }
}

pub struct Server {
    port: u16,
    seen: Arc<Mutex<Seen>>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    requests: Vec<String>,
}

type Answer = dyn Fn(&str) -> Vec<Step> + Send + Sync;

impl Server {
    /// Listens on 127.0.0.1, and on the same port of ::1 where there is one.
    pub async fn start(answer: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Server {
        let answer: Arc<Answer> = Arc::new(answer);
        let seen = Arc::<Mutex<Seen>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut tasks = vec![tokio::spawn(accept(listener, Arc::clone(&answer), Arc::clone(&seen)))];
        if let Ok(listener) = TcpListener::bind(("::1", port)).await {
            tasks.push(tokio::spawn(accept(listener, answer, Arc::clone(&seen))));
        }
        Server { port, seen, tasks }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Each request as it arrived, in lower case up to its body.
    pub fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn accept(listener: TcpListener, answer: Arc<Answer>, seen: Arc<Mutex<Seen>>) {
    while let Ok((stream, _)) = listener.accept().await {
        seen.lock().unwrap().connections += 1;
        tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&seen)));
    }
}

async fn serve(mut stream: TcpStream, answer: Arc<Answer>, seen: Arc<Mutex<Seen>>) {
    while let Some(request) = read(&mut stream).await {
        seen.lock().unwrap().requests.push(request.clone());
        for step in answer(&request) {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                    stream.flush().await.unwrap();
                }
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Close => return,
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut text = String::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let done = match length {
            Some(length) => body.len() >= length.parse().unwrap(),
            None => !head.contains("transfer-encoding: chunked") || body.ends_with("0\r\n\r\n"),
        };
        if done {
            return Some(format!("{head}\r\n\r\n{body}"));
        }
    }
}
