//! A server on loopback that says whatever the test wants it to say, and counts who came.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// One answer a connection. Its threads end with the test's process.
pub struct Listener {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    /// Answers each request, head and body as they came, with what `answer` makes of it: a whole response, byte for byte.
    pub fn new<A: Into<Vec<u8>>>(answer: impl Fn(&str) -> A + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listening = Self { address, heard: heard.clone() };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (heard, answer) = (heard.clone(), answer.clone());
                thread::spawn(move || {
                    let at = {
                        let mut heard = heard.lock().expect("no thread panicked");
                        // A connection counts as received, also without data.
                        heard.push(String::new());
                        heard.len() - 1
                    };
                    let request = read(&connection);
                    heard.lock().expect("no thread panicked")[at].clone_from(&request);
                    let mut connection = connection;
                    // A client that hangs up in the middle is the test's business.
                    let _ = connection.write_all(&answer(&request).into());
                });
            }
        });
        listening
    }

    /// `http://127.0.0.1:PORT`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The received text, by connection.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("no thread panicked").clone()
    }
}

/// A response with that body that ends the connection.
pub fn response(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} as told\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn read(connection: &TcpStream) -> String {
    let mut reader = BufReader::new(connection);
    let (mut head, mut length, mut chunked) = (String::new(), 0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return head;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
        head.push_str(&line);
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut body = Vec::new();
    if chunked {
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).unwrap_or(0) > 0 && !line.ends_with(b"\r\n0\r\n") && line != b"0\r\n"
        {
        }
        let _ = reader.read_line(&mut String::new());
        body = line;
    } else {
        let _ = reader.take(length).read_to_end(&mut body);
    }
    head + &String::from_utf8_lossy(&body)
}
