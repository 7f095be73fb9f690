//! Decisions on a tape.

use crate::turn::{DECIDED, DENIED};
use bub_tape::{Entry, Lookup, Result, Tape, json};
use serde_json::Value;

/// Decisions that are looked through for one.
const MAX_DECISIONS: usize = 2_000;

/// Entries that are looked through for a call without a decision.
const MAX_ENTRIES: usize = 20_000;

/// Entries that are read at once.
const PAGE: usize = 256;

/// A decision, or a call of which nothing was decided but that it is made.
#[derive(Debug, Clone)]
pub struct DecisionEvent {
    /// The entry.
    pub entry: u64,
    /// The name of its event; empty: a call of a tool that the owner's clean turn simply made.
    pub name: String,
    /// The date.
    pub date: String,
    /// The event's data.
    pub data: Value,
}

impl DecisionEvent {
    fn parse(entry: &Entry) -> Option<Self> {
        // What carries a plugin's name was not written by the host.
        if !entry.is("event") || json::get(&entry.meta, "plugin").is_some() {
            return None;
        }
        let name = json::get(&entry.payload, "name").and_then(json::string)?;
        let is_decision = [DECIDED, DENIED].contains(&name.as_str());
        let data = json::get(&entry.payload, "data").and_then(|data| serde_json::from_str(data).ok())?;
        is_decision.then(|| Self { entry: entry.id, name, date: entry.date.to_string(), data })
    }

    /// Whether that is its id: of its entry, of the call, or of the question about it.
    fn is_called(&self, id: &str) -> bool {
        self.entry.to_string() == id || self.data["call"] == id || self.data["answer"]["id"] == id
    }
}

/// The newest decisions, newest first.
///
/// # Errors
///
/// The tape cannot be read.
pub async fn decisions(tape: &Tape, max: usize) -> Result<Vec<DecisionEvent>> {
    let mut found = Vec::new();
    for name in [DECIDED, DENIED] {
        let mut before = None;
        for _ in 0..max {
            let Some(entry) = tape.newest_before(&Lookup::event(name), before).await? else { break };
            before = Some(entry.id);
            found.extend(DecisionEvent::parse(&entry));
        }
    }
    // Of what the rules refused the decision says more.
    let decided: Vec<(u64, Value)> = found
        .iter()
        .filter(|known| known.name == DECIDED && known.data["made"] == false)
        .map(|known| (known.entry, known.data["tool"].clone()))
        .collect();
    found.retain(|known| {
        let is_twin = |(entry, tool): &(u64, Value)| known.entry.abs_diff(*entry) < 64 && *tool == known.data["tool"];
        let by_rules = ["policy", "approval", "gate"].iter().any(|reason| known.data["reason"] == *reason);
        !(known.name == DENIED && by_rules && decided.iter().any(is_twin))
    });
    found.sort_by_key(|decision| std::cmp::Reverse(decision.entry));
    found.truncate(max);
    Ok(found)
}

/// The decision with that id; of a call that was made without one, the call. `None`: there is no such id. Models give
/// different calls one id: the newest is meant, or with `call_entry` the one whose call is that entry.
///
/// # Errors
///
/// The tape cannot be read.
pub async fn decision(tape: &Tape, id: &str, call_entry: Option<u64>) -> Result<Option<DecisionEvent>> {
    if let Some(before) = id.parse::<u64>().ok().and_then(|id| id.checked_sub(1)) {
        let entries = tape.read(before, 1).await?;
        let entry = entries.first().filter(|entry| entry.id == before + 1);
        return Ok(entry.and_then(DecisionEvent::parse));
    }
    for name in [DECIDED, DENIED] {
        let (mut before, mut own) = (None, None);
        for _ in 0..MAX_DECISIONS {
            let Some(entry) = tape.newest_before(&Lookup::event(name), before).await? else { break };
            before = Some(entry.id);
            if call_entry.is_some_and(|call| entry.id < call) {
                break;
            }
            let found = DecisionEvent::parse(&entry).filter(|decision| decision.is_called(id));
            match (found, call_entry) {
                (None, _) => {}
                (found, None) => return Ok(found),
                // The next one behind the call is its own.
                (found, Some(_)) => own = found,
            }
        }
        if own.is_some() {
            return Ok(own);
        }
    }
    Ok(call(tape, id).await?.map(|(entry, call)| DecisionEvent {
        entry: entry.id,
        name: String::new(),
        date: entry.date.to_string(),
        data: call,
    }))
}

/// The newest call of a tool with that id, and the entry that has it.
pub(super) async fn call(tape: &Tape, id: &str) -> Result<Option<(Entry, Value)>> {
    let mut before = None;
    for _ in 0..MAX_ENTRIES / PAGE {
        let page = tape.tail(before, PAGE).await?;
        let Some(first) = page.first() else { break };
        before = Some(first.id);
        for entry in page.iter().rev().filter(|entry| entry.is("tool_call")) {
            let calls = json::get(&entry.payload, "calls").and_then(|calls| serde_json::from_str::<Value>(calls).ok());
            let mut calls = calls.iter().filter_map(Value::as_array).flatten();
            if let Some(call) = calls.find(|call| call["id"] == id) {
                let function = &call["function"];
                let call =
                    serde_json::json!({ "call": id, "tool": function["name"], "arguments": function["arguments"] });
                return Ok(Some((entry.clone(), call)));
            }
        }
    }
    Ok(None)
}
