//! The conversation of a session as updates, for an editor that loads it.

use super::client::Client;
use super::message::storage;
use super::session::Session;
use super::updates::{chunk, text_chunk};
use super::{calls, lookup, wording};
use agent_client_protocol_schema::v1::{
    Error, SessionUpdate, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use bub_runtime::host::Host;
use bub_tape::{Entry, Tape, json, tape_name, typed};
use serde_json::Value;
use std::sync::Arc;

/// Entries that are looked at, and their bytes.
const MAX_ENTRIES: usize = 4000;
const MAX_BYTES: usize = 8 << 20;

/// Entries that are read at once.
const STEP: usize = 256;

/// What stands for a part of a message that is no text.
const ATTACHMENT: &str = "[attachment]";

/// The tape of a session of that host; none: there is no such session.
pub(crate) async fn tape(host: &Arc<Host>, session: &str) -> Result<Option<Tape>, Error> {
    let tape = host.tapes().open(&tape_name(&host.workspace, session)).map_err(storage)?.without_forgotten();
    Ok((tape.last_id().await.map_err(storage)? > 0).then_some(tape))
}

/// Sends the conversation, the oldest first.
///
/// # Errors
///
/// The tape cannot be read.
pub(crate) async fn replay(client: &Client, session: &Session, host: &Host, tape: &Tape) -> Result<(), Error> {
    let (entries, is_whole) = newest(tape).await.map_err(storage)?;
    let mut replay = Replay { client, session, host, open: Vec::new() };
    if !is_whole {
        replay.send(chunk(false, "_The beginning of this conversation is not shown._\n\n")).await;
    }
    for entry in entries.iter().filter(|entry| entry.in_context()) {
        replay.entry(entry).await;
    }
    replay.fail_open().await;
    Ok(())
}

/// The newest entries, oldest first, and whether these are all.
async fn newest(tape: &Tape) -> bub_tape::Result<(Vec<Entry>, bool)> {
    let (mut entries, mut bytes) = (Vec::<Entry>::new(), 0);
    loop {
        let mut found = tape.tail(entries.last().map(|entry| entry.id), STEP).await?;
        found.reverse();
        let is_end = found.len() < STEP;
        for entry in found {
            bytes += entry.payload.len();
            if entries.len() >= MAX_ENTRIES || bytes > MAX_BYTES {
                entries.reverse();
                return Ok((entries, false));
            }
            entries.push(entry);
        }
        if is_end {
            entries.reverse();
            return Ok((entries, true));
        }
    }
}

struct Replay<'a> {
    client: &'a Client,
    session: &'a Session,
    host: &'a Host,
    /// The ids of the calls without a result.
    open: Vec<String>,
}

impl Replay<'_> {
    async fn entry(&mut self, entry: &Entry) {
        match &*entry.kind {
            "message" => self.message(entry).await,
            "tool_call" => self.calls(entry).await,
            "tool_result" => self.results(entry).await,
            _ => {}
        }
    }

    async fn message(&mut self, entry: &Entry) {
        self.fail_open().await;
        let [role, content] = json::pick(&entry.payload, ["role", "content"]);
        let is_users = role.and_then(json::string).as_deref() == Some("user");
        let text = content.map(said).unwrap_or_default();
        let text = if is_users { typed(&text) } else { &text };
        if text.trim().is_empty() {
            return;
        }
        let update = match is_users {
            true => SessionUpdate::UserMessageChunk(text_chunk(text)),
            false => chunk(false, text),
        };
        self.send(update).await;
    }

    async fn calls(&mut self, entry: &Entry) {
        self.fail_open().await;
        let calls: Vec<Value> = parsed(&entry.payload, "calls");
        for (at, call) in calls.iter().enumerate() {
            let said = |key: &str| call.get("function").and_then(|of| of.get(key)).and_then(Value::as_str);
            let tool = lookup::dotted(self.host, said("name").unwrap_or_default());
            let id = format!("entry-{}-{at}", entry.id);
            let shown = calls::shown(self.host, id.clone(), &tool, said("arguments").unwrap_or_default());
            self.open.push(id);
            self.send(SessionUpdate::ToolCall(shown.status(ToolCallStatus::InProgress))).await;
        }
    }

    async fn results(&mut self, entry: &Entry) {
        let results: Vec<Value> = parsed(&entry.payload, "results");
        for (id, result) in std::mem::take(&mut self.open).into_iter().zip(results) {
            let is_error = result.get("kind").is_some() && result.get("message").is_some_and(Value::is_string);
            let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
            let text = result.to_string();
            let content = wording::result(&text).map(ToolCallContent::from).into_iter().collect::<Vec<_>>();
            let fields = ToolCallUpdateFields::new().status(status).content(content).raw_output(wording::raw(&text));
            self.send(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))).await;
        }
    }

    /// Calls that a crash or a cancellation left without a result.
    async fn fail_open(&mut self) {
        for id in std::mem::take(&mut self.open) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
            self.send(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))).await;
        }
    }

    async fn send(&self, update: SessionUpdate) {
        self.client.update(&self.session.id, update).await;
    }
}

/// The text of a message: all of it, or its parts.
fn said(content: &str) -> String {
    match serde_json::from_str::<Value>(content) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(parts)) => {
            let text = |part: &Value| match part.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => ATTACHMENT.to_owned(),
            };
            parts.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn parsed(payload: &str, key: &str) -> Vec<Value> {
    json::get(payload, key).and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default()
}
