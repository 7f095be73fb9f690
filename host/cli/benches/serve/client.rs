//! A connection to the program, for sequential turns.

use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A kept-alive connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Client {
    pub async fn connect(address: SocketAddr, token: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), token: token.to_owned() })
    }

    /// Requests a turn. Returns status and body.
    pub async fn turn(&mut self, session: &str, content: &str, key: Option<&str>) -> io::Result<(u16, String)> {
        let body = serde_json::json!({ "content": content, "session_id": session }).to_string();
        let key = key.map_or_else(String::new, |key| format!("Idempotency-Key: {key}\r\n"));
        let request = format!(
            "POST /v1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {}\r\n{key}Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        let mut line = String::new();
        let next = async |line: &mut String, stream: &mut BufReader<TcpStream>| {
            line.clear();
            match stream.read_line(line).await? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => io::Result::Ok(()),
            }
        };
        next(&mut line, &mut self.stream).await?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            next(&mut line, &mut self.stream).await?;
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}
