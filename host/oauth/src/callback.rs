//! The address on this machine to which a browser comes back from a login.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// The path of the address.
const PATH: &str = "/callback";

/// The longest request that is read, in bytes, and how long it may take.
const MAX_REQUEST: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

/// A listener for one login.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    port: u16,
}

impl Callback {
    /// Listens on 127.0.0.1, at a free port unless one is named.
    ///
    /// # Errors
    ///
    /// The port is taken.
    pub async fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The address, without a query.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser, and returns the address with its query. Other requests are answered and ignored.
    ///
    /// # Errors
    ///
    /// The listener fails.
    pub async fn wait(&self) -> io::Result<String> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            // One at a time is enough for one browser; one that says nothing is dropped soon.
            if let Ok(Ok(Some(query))) = timeout(PATIENCE, answer(stream)).await {
                return Ok(format!("{}?{query}", self.address()));
            }
        }
    }
}

/// Reads a request and answers it. `None`: it is not the browser that comes back.
async fn answer(mut stream: TcpStream) -> io::Result<Option<String>> {
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        match stream.read(&mut part).await? {
            0 => break,
            read => request.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    let query = query(&request);
    let (status, text) = match query {
        Some(_) => ("200 OK", "You can close this page and go back to the terminal."),
        None => ("404 Not Found", "There is nothing here."),
    };
    let page = format!("<!doctype html><meta charset=\"utf-8\"><title>bub-wasm</title><p>{text}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(query)
}

/// The query of a request for the address, if it is the answer to a login.
fn query(request: &[u8]) -> Option<String> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (path, query) = line.strip_prefix("GET ")?.split_once(' ')?.0.split_once('?')?;
    let is_answer = query.split('&').any(|pair| pair.starts_with("code=") || pair.starts_with("error="));
    (path == PATH && is_answer).then(|| query.to_owned())
}
