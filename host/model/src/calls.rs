//! Assembly of tool calls from deltas.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::exchange::ToolCall;

/// Maximum calls in one answer. More indicate a broken server.
const MAX_CALLS: usize = 128;

/// An answer has too many tool calls.
pub(crate) struct TooManyCalls;

/// The calls of one answer, by the server's index.
#[derive(Default)]
pub(crate) struct Calls {
    /// A map, so that a huge index needs no memory.
    by_index: BTreeMap<u64, Call>,
    latest: Option<u64>,
}

#[derive(Default)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
}

impl Calls {
    /// Merges one `tool_calls` list, of a delta or of a whole message.
    ///
    /// The last id counts. A part of a name is appended unless it equals the name so far, which some servers repeat in
    /// every delta. Arguments are appended.
    pub(crate) fn merge(&mut self, pieces: &[Value]) -> Result<(), TooManyCalls> {
        for (position, piece) in pieces.iter().enumerate() {
            let index = self.index(position, pieces.len(), piece);
            self.at(index)?.take_in(piece);
        }
        Ok(())
    }

    /// Begins a call without its arguments.
    pub(crate) fn begin(&mut self, index: u64, id: Option<&str>, name: &str) -> Result<(), TooManyCalls> {
        let call = self.at(index)?;
        call.id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        name.clone_into(&mut call.name);
        Ok(())
    }

    /// Appends to the arguments of a call; ignored for an unknown one.
    pub(crate) fn append(&mut self, index: u64, arguments: &str) {
        if let Some(call) = self.by_index.get_mut(&index) {
            call.arguments.push_str(arguments);
        }
    }

    fn at(&mut self, index: u64) -> Result<&mut Call, TooManyCalls> {
        if self.by_index.len() >= MAX_CALLS && !self.by_index.contains_key(&index) {
            return Err(TooManyCalls);
        }
        self.latest = Some(index);
        Ok(self.by_index.entry(index).or_default())
    }

    /// The calls in order of index, each with an id and arguments.
    pub(crate) fn finish(self) -> Vec<ToolCall> {
        self.by_index
            .into_iter()
            .map(|(index, call)| ToolCall {
                id: Some(call.id.unwrap_or_else(|| format!("call_{index}"))),
                name: call.name,
                arguments: match call.arguments.is_empty() {
                    true => "{}".to_owned(),
                    false => call.arguments,
                },
            })
            .collect()
    }

    /// The index of the call that a delta belongs to. Some servers omit the index: then the id decides; without one,
    /// the position among several, and a single delta continues the latest call.
    fn index(&self, position: usize, of: usize, piece: &Value) -> u64 {
        if let Some(index) = piece.get("index").and_then(Value::as_u64) {
            return index;
        }
        if let Some(id) = text(piece, "id") {
            let same = self.by_index.iter().find(|(_, call)| call.id.as_deref() == Some(id));
            let next = self.by_index.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
            return same.map_or(next, |(index, _)| *index);
        }
        match self.latest {
            Some(latest) if of == 1 => latest,
            _ => position as u64,
        }
    }
}

impl Call {
    fn take_in(&mut self, piece: &Value) {
        if let Some(id) = text(piece, "id") {
            self.id = Some(id.to_owned());
        }
        let Some(function) = piece.get("function") else {
            return;
        };
        if let Some(name) = text(function, "name")
            && name != self.name
        {
            self.name.push_str(name);
        }
        match function.get("arguments") {
            Some(Value::String(arguments)) => self.arguments.push_str(arguments),
            // Some local servers send the object itself instead of a string.
            Some(arguments @ Value::Object(_)) => self.arguments.push_str(&arguments.to_string()),
            _ => {}
        }
    }
}

/// A member that is a non-empty string.
fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}
