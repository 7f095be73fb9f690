//! One request, and what a server says until it answers it.

use crate::message::{self, Message, Outcome};
use crate::text;
use bub_guest::{Error, ErrorKind, Result, log};
use serde_json::{Value, json};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

/// What is taken of a server before it answers: messages, their bytes, and requests of its own.
const MAX_MESSAGES: u32 = 5_000;
const MAX_BYTES: usize = 16 << 20;
const MAX_REQUESTS: u32 = 64;

/// JSON-RPC: there is no such method.
const NO_METHOD: i32 = -32601;

/// A request that waits for its answer.
pub struct Dialog<'a> {
    server: &'a str,
    method: &'a str,
    /// The id of the request. Random, so that no server can answer before it was asked, and no answer is taken for another
    /// call's.
    pub id: u32,
    began: Instant,
    until: Instant,
    messages: u32,
    bytes: usize,
    requests: u32,
    /// Answers to requests that were not made here.
    strays: u32,
    /// Whether the server has said that its tools are others now.
    pub tools_changed: bool,
}

/// What follows from a message.
pub enum Step {
    /// It was the answer.
    Answered(Outcome),
    /// The server asked for something: this is to be sent.
    Reply(String),
    /// Nothing.
    Wait,
}

impl<'a> Dialog<'a> {
    pub fn new(server: &'a str, method: &'a str, until: Instant) -> Self {
        let id = RandomState::new().hash_one(method) as u32 >> 1;
        let began = Instant::now();
        Self { server, method, id, began, until, messages: 0, bytes: 0, requests: 0, strays: 0, tools_changed: false }
    }

    /// The name of the server.
    pub fn server(&self) -> &str {
        self.server
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Reads what the server said.
    ///
    /// # Errors
    ///
    /// `tool`, if it says too much.
    pub fn take(&mut self, said: &str) -> Result<Step> {
        self.messages += 1;
        self.bytes += said.len();
        if self.messages > MAX_MESSAGES || self.bytes > MAX_BYTES {
            let (messages, bytes) = (self.messages, self.bytes >> 10);
            return Err(self.error(ErrorKind::Tool, format!("sent {messages} messages ({bytes} KiB) and no answer")));
        }
        let message = message::parse(said)
            .map_err(|error| Error { message: format!("the server `{}`: {}", self.server, error.message), ..error })?;
        match message {
            Message::Answer { id, outcome } if id.as_u64() == Some(u64::from(self.id)) => Ok(Step::Answered(outcome)),
            Message::Answer { .. } => {
                self.strays += 1;
                Ok(Step::Wait)
            }
            Message::Request { id, method } => self.reply(&id, &method).map(Step::Reply),
            Message::Notification { method } => {
                self.tools_changed |= method == "notifications/tools/list_changed";
                Ok(Step::Wait)
            }
            Message::Noise => Ok(Step::Wait),
        }
    }

    /// Nothing of this program is for servers: neither its model, nor its directories, nor its user.
    fn reply(&mut self, id: &Value, method: &str) -> Result<String> {
        self.requests += 1;
        if self.requests > MAX_REQUESTS {
            return Err(self.error(ErrorKind::Tool, format!("made {} requests instead of an answer", self.requests)));
        }
        if method == "ping" {
            return Ok(json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string());
        }
        let method = text::line(method, 60);
        log::info(format!("MCP server `{}` asks for `{method}`, which servers do not get", self.server));
        let error = json!({ "code": NO_METHOD, "message": format!("`{method}` is not offered to servers") });
        Ok(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
    }

    /// The error of a server that did not answer in time.
    pub fn late(&self) -> Error {
        let seconds = self.until.saturating_duration_since(self.began).as_millis().div_ceil(1000);
        let strays = match self.strays {
            0 => String::new(),
            1 => "; it sent an answer to a request that was not made".to_owned(),
            strays => format!("; it sent {strays} answers to requests that were not made"),
        };
        self.error(ErrorKind::Temporary, format!("did not answer `{}` within {seconds} s{strays}", self.method))
    }

    /// An error with the server's name.
    pub fn error(&self, kind: ErrorKind, what: impl std::fmt::Display) -> Error {
        Error::new(kind, format!("the server `{}` {what}", self.server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog() -> Dialog<'static> {
        Dialog::new("it", "tools/call", Instant::now() + Duration::from_secs(9))
    }

    #[test]
    fn only_the_answer_with_the_id_of_the_request_is_its_answer() {
        let _host = bub_guest::test::Host::new();
        let mut dialog = dialog();
        let other = json!({ "jsonrpc": "2.0", "id": u64::from(dialog.id) + 1, "result": 1 }).to_string();
        assert!(matches!(dialog.take(&other).unwrap(), Step::Wait));
        let as_text = json!({ "jsonrpc": "2.0", "id": dialog.id.to_string(), "result": 1 }).to_string();
        assert!(matches!(dialog.take(&as_text).unwrap(), Step::Wait));
        assert!(dialog.late().message.contains("2 answers to requests that were not made"));
        let own = json!({ "jsonrpc": "2.0", "id": dialog.id, "result": 1 }).to_string();
        assert!(matches!(dialog.take(&own).unwrap(), Step::Answered(Ok(_))));
    }

    #[test]
    fn a_server_gets_an_error_for_what_it_asks_and_only_so_often() {
        let _host = bub_guest::test::Host::new();
        let mut dialog = dialog();
        let asks = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#;
        let Step::Reply(reply) = dialog.take(asks).unwrap() else { panic!("it is a request") };
        assert!(reply.contains("-32601") && reply.contains("sampling/createMessage"), "{reply}");
        assert!((0..MAX_REQUESTS).any(|_| dialog.take(asks).is_err()));
    }

    #[test]
    fn a_flood_ends() {
        let _host = bub_guest::test::Host::new();
        let mut dialog = dialog();
        let error = (0..=MAX_MESSAGES).find_map(|_| dialog.take("log").err()).unwrap();
        assert!(error.message.starts_with("the server `it` sent 5001 messages"), "{}", error.message);
    }
}
