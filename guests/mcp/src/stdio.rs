//! A server that is a program: a message is a line.

use crate::dialog::{Dialog, Step};
use crate::message::Outcome;
use bub_guest::process::Server;
use bub_guest::{Error, Result};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a server may take to read a line that needs no answer.
const WRITE_TIME: Duration = Duration::from_secs(5);

/// Why there is no answer.
pub enum Failure {
    /// The request was not read: it can be made again.
    Unsent(Error),
    /// The server may have begun with it.
    Lost(Error),
}

/// Sends a request, and waits for its answer.
///
/// # Errors
///
/// The server ended, hung, or said too much; in the last case it is ended.
pub fn request(server: &Server, request: &Value, dialog: &mut Dialog<'_>) -> std::result::Result<Outcome, Failure> {
    server.write_line(&request.to_string(), dialog.left()).map_err(Failure::Unsent)?;
    loop {
        let left = dialog.left();
        let line = server.read_line(left).map_err(Failure::Lost)?;
        let Some(line) = line else {
            if !dialog.left().is_zero() {
                continue;
            }
            // A server that still works on it may stop.
            let params = json!({ "requestId": dialog.id, "reason": "the time is up" });
            let _ = notify(server, "notifications/cancelled", &params);
            return Err(Failure::Lost(dialog.late()));
        };
        let step = dialog.take(&line).inspect_err(|_| {
            let _ = server.reset();
        });
        match step.map_err(Failure::Lost)? {
            Step::Answered(outcome) => return Ok(outcome),
            Step::Reply(reply) => server.write_line(&reply, WRITE_TIME).map_err(Failure::Lost)?,
            Step::Wait if dialog.left().is_zero() => return Err(Failure::Lost(dialog.late())),
            Step::Wait => {}
        }
    }
}

/// Sends a message that has no answer.
///
/// # Errors
///
/// The server has ended, or does not read.
pub fn notify(server: &Server, method: &str, params: &Value) -> Result<()> {
    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    server.write_line(&message.to_string(), WRITE_TIME)
}
