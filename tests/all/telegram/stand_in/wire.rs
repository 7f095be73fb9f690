//! Requests as bytes: files are no text.

use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// One request.
pub struct Asked {
    pub path: String,
    content_type: String,
    body: Vec<u8>,
}

/// A file in a form.
pub struct Part {
    pub filename: String,
    pub bytes: Vec<u8>,
}

pub fn read(connection: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut content_type, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-type" => content_type = value.trim().to_owned(),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).ok()?;
    Some(Asked { path, content_type, body })
}

pub fn write(mut connection: &TcpStream, status: u16, body: &[u8]) {
    let head = format!("HTTP/1.1 {status} as told\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    // A client that hangs up in the middle is the test's business.
    let _ = connection.write_all(&[head.as_bytes(), body].concat());
}

impl Asked {
    /// The arguments of a method, as JSON or as a form; numbers are numbers in both.
    pub fn fields(&self) -> (Map<String, Value>, Option<Part>) {
        let Some(boundary) = self.content_type.strip_prefix("multipart/form-data; boundary=") else {
            return (serde_json::from_slice(&self.body).unwrap_or_default(), None);
        };
        let (mut fields, mut file) = (Map::new(), None);
        for part in parts(&self.body, format!("--{boundary}").as_bytes()) {
            let Some(at) = part.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let (head, bytes) = (String::from_utf8_lossy(&part[..at]).into_owned(), part[at + 4..].to_vec());
            let named = |key: &str| {
                let (_, behind) = head.split_once(&format!("{key}=\""))?;
                Some(behind.split_once('"')?.0.to_owned())
            };
            match (named("; name"), named("filename")) {
                (_, Some(filename)) => file = Some(Part { filename, bytes }),
                (Some(name), None) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let number = text.parse::<i64>().map(Value::from);
                    fields.insert(name, number.unwrap_or_else(|_| text.into()));
                }
                _ => {}
            }
        }
        (fields, file)
    }
}

/// The text between two boundaries, without the line ends around it.
fn parts<'b>(body: &'b [u8], boundary: &[u8]) -> Vec<&'b [u8]> {
    let at: Vec<usize> =
        body.windows(boundary.len()).enumerate().filter(|(_, window)| *window == boundary).map(|(at, _)| at).collect();
    let between = |pair: &[usize]| body.get(pair[0] + boundary.len() + 2..pair[1] - 2);
    at.windows(2).filter_map(between).collect()
}
