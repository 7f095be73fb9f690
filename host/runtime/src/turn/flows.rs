//! The knowledge of a turn for judging flows: what the owner said, which addresses were named, and what was read.
//!
//! Turns inside a turn share it. Addresses are on the tape, as `turn.addresses`, for the turns that follow; what was read is
//! not, because what a model can say of earlier turns stands in its requests.

use super::data::Turn;
use super::named::{Flows, Named};
use crate::flow::address;
use crate::flow::{Conversation, Reading};
use crate::plugin::{Plugin, Tool, is_called};
use bub_permissions::GrantKind;
use bub_tape::{Lookup, json};
use bub_types::{Principal, is_ephemeral};
use parking_lot::MutexGuard;
use serde_json::Value;
use std::collections::HashMap;

/// The event that has the addresses that were named in a conversation: all of them, so that only the latest is looked for.
pub(super) const ADDRESSES: &str = "turn.addresses";

/// Bytes of results that a turn keeps to compare them.
const MAX_READ: usize = 4 << 20;

/// The tool that reads what was put aside.
const SPILL_READER: &str = "spill.read";

impl Turn {
    fn flows(&self) -> MutexGuard<'_, Flows> {
        self.flows.lock()
    }

    /// The owner has said something while the turn ran.
    pub(super) fn record_owner_text(&self, words: &str) {
        self.flows().steered.push(words.to_owned());
    }

    /// Records the result of a tool, before it is shortened.
    pub fn record_result(&self, plugin: &Plugin, tool: &Tool, arguments: &str, result: &str) {
        let is_page = self.reads_pages(plugin, tool);
        let mut flows = self.flows();
        if is_page {
            // A result is JSON, in which an address may be spelled otherwise.
            let text = serde_json::from_str::<String>(result).unwrap_or_else(|_| result.to_owned());
            flows.named.pages.extend(address::written(&text));
        } else if !is_of_page(&tool.name, arguments, &|handle| flows.has_spilled(handle)) {
            flows.bytes = flows.bytes.saturating_add(result.len());
            if flows.bytes <= MAX_READ {
                flows.read.push((read_by(&tool.name), result.to_owned()));
            }
        }
    }

    /// Records the part of it that goes to the model: where the rest was put aside, what reads it is a page, too.
    pub fn record_shown_result(&self, plugin: &Plugin, tool: &Tool, shown: &str) {
        if let Some(handle) = spill_handle(shown).filter(|_| self.reads_pages(plugin, tool)) {
            self.flows().named.spilled.push(handle);
        }
    }

    /// Whether the tool's result is a page: content fetched from outside, not from this machine.
    fn reads_pages(&self, plugin: &Plugin, tool: &Tool) -> bool {
        tool.reads_outside && !self.scope.host.grants.held(plugin, GrantKind::Http).is_empty()
    }

    /// Hands the known facts of the conversation to `inspect`.
    pub async fn with_conversation<T>(&self, inspect: impl FnOnce(&Conversation<'_>) -> T) -> bub_tape::Result<T> {
        let outermost = self.outermost();
        let earlier = outermost.named_earlier().await?;
        let mut texts: Vec<(String, String)> = Vec::new();
        let mut is_partial = false;
        for turn in std::iter::once(self).chain(self.ancestors().map(|turn| &**turn)) {
            is_partial |= turn.collect_private_texts(&earlier, &mut texts);
        }
        let flows = outermost.flows();
        is_partial |= flows.bytes > MAX_READ;
        let mut named = earlier;
        named.extend(&flows.named);
        let mut owner_texts: Vec<&str> = flows.steered.iter().map(String::as_str).collect();
        if outermost.principal == Principal::Owner {
            owner_texts.push(&outermost.message.content);
        }
        named.owner.extend(owner_texts.iter().flat_map(|owner_texts| address::meant(owner_texts)));
        let read = flows.read.iter().chain(&texts);
        let conversation = Conversation {
            read: read.map(|(source, text)| Reading { source, text }).collect(),
            owner_texts,
            owner: named.owner,
            pages: named.pages,
            is_partial,
        };
        Ok(inspect(&conversation))
    }

    /// Collects the texts in the requests of this turn that are neither a page nor the owner's: instructions and
    /// memory, results of tools, and what a model said before this turn. Returns whether there was more.
    fn collect_private_texts(&self, earlier: &Named, texts: &mut Vec<(String, String)>) -> bool {
        let (messages, is_partial) = self.request_messages();
        let mut calls: HashMap<String, (String, String)> = HashMap::new();
        for (message, is_earlier) in messages {
            let Ok(message) = serde_json::from_str::<Value>(message.as_ref()) else { continue };
            let text = content(&message);
            match message["role"].as_str() {
                Some("assistant") => {
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                        let function = &call["function"];
                        calls.insert(part(&call["id"]), (part(&function["name"]), part(&function["arguments"])));
                    }
                    if is_earlier {
                        texts.push(("text of an earlier answer".to_owned(), text));
                    }
                }
                Some("tool") => {
                    let call = message["tool_call_id"].as_str().and_then(|id| calls.get(id));
                    let (name, arguments) = call.cloned().unwrap_or_default();
                    if !self.is_page(&name, &arguments, earlier) {
                        texts.push((read_by(&self.dotted(&name)), text));
                    }
                }
                Some("user") => {}
                _ => texts.push(("text of the system prompt (instructions, memory)".to_owned(), text)),
            }
        }
        is_partial
    }

    /// Whether a call of a tool, by the name that a model has for it, answered with a page.
    fn is_page(&self, name: &str, arguments: &str, earlier: &Named) -> bool {
        let mut tools =
            self.scope.plugins.iter().flat_map(|plugin| plugin.tools.iter().map(move |tool| (plugin, tool)));
        tools.find(|(_, tool)| is_called(&tool.name, name)).is_some_and(|(plugin, tool)| {
            let has_spilled =
                |handle: &str| earlier.spilled.iter().any(|known| known == handle) || self.flows().has_spilled(handle);
            self.reads_pages(plugin, tool) || is_of_page(&tool.name, arguments, &has_spilled)
        })
    }

    /// The addresses and handles that were named in this conversation before this turn.
    async fn named_earlier(&self) -> bub_tape::Result<Named> {
        if let Some(earlier) = &self.flows().earlier {
            return Ok(earlier.clone());
        }
        // An entry of a plugin carries its name, and is not the host's.
        let event = self.tape.newest(&Lookup::event(ADDRESSES)).await?;
        let event = event.filter(|event| json::get(&event.meta, "plugin").is_none());
        let data = event.and_then(|event| json::get(&event.payload, "data").map(str::to_owned));
        let data: Value = data.and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default();
        let earlier = Named::parse(&data);
        self.flows().earlier = Some(earlier.clone());
        Ok(earlier)
    }

    /// Writes down which addresses are known from here on, where this turn has named any: a turn that has not costs nothing.
    pub(super) async fn write_addresses(&self, has_failed: bool) -> bub_tape::Result<()> {
        let is_kept = self.parent.is_none() && !is_ephemeral(&self.session_id);
        if !is_kept || !(has_failed || self.has_opened_tape()) {
            return Ok(());
        }
        let mut named = self.flows().named.clone();
        if self.principal == Principal::Owner {
            named.owner.extend(address::certain(&self.message.content));
        }
        let steered = self.flows().steered.clone();
        named.owner.extend(steered.iter().flat_map(|owner_texts| address::certain(owner_texts)));
        if named == Named::default() {
            return Ok(());
        }
        let earlier = self.named_earlier().await?;
        let mut all = earlier.clone();
        all.extend(&named);
        if all == earlier { Ok(()) } else { self.append_event(ADDRESSES, &all.data()).await }
    }
}

fn read_by(tool: &str) -> String {
    format!("text read by `{tool}`")
}

/// Whether that call reads what was put aside of a page.
fn is_of_page(tool: &str, arguments: &str, has_spilled: &dyn Fn(&str) -> bool) -> bool {
    let handle = || serde_json::from_str::<Value>(arguments).ok()?.get("handle")?.as_str().map(str::to_owned);
    tool == SPILL_READER && handle().is_some_and(|handle| has_spilled(&handle))
}

/// The handle in the notice that replaces a spilled result.
fn spill_handle(shown: &str) -> Option<String> {
    let rest = shown.strip_prefix("\"[tool output spilled: ")?;
    let handle = rest.split_once("; handle: ")?.1.split(']').next()?;
    Some(handle.to_owned())
}

/// The text of a message, in parts or not.
fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
