//! A tape for tests, as the host shows it.

use crate::source::Source;
use bub_guest::recall;
use bub_guest::tape::{Entry, Query};
use bub_guest::{Error, ErrorKind};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub struct Tape(pub Vec<Entry>);

impl Tape {
    pub fn push(&mut self, kind: &str, payload: Value) -> &mut Self {
        let id = self.0.last().map_or(0, |entry| entry.id) + 1;
        self.0.push(Entry {
            id,
            kind: kind.to_owned(),
            payload: payload.to_string(),
            meta: "{}".to_owned(),
            date: "2026-11-21T00:00:00+00:00".to_owned(),
        });
        self
    }

    pub fn event(&mut self, name: &str, data: Value) -> &mut Self {
        self.push("event", json!({ "name": name, "data": data }))
    }

    pub fn start(&mut self) -> &mut Self {
        self.event("loop.start", json!({}))
    }

    pub fn end(&mut self) -> &mut Self {
        self.event("loop.step", json!({ "status": "ok" }))
    }

    pub fn anchor(&mut self, name: &str, state: Value) -> &mut Self {
        self.push("anchor", json!({ "name": name, "state": state }))
    }

    pub fn user(&mut self, text: &str) -> &mut Self {
        self.push("message", json!({ "role": "user", "content": text }))
    }

    pub fn assistant(&mut self, text: &str) -> &mut Self {
        self.push("message", json!({ "role": "assistant", "content": text }))
    }

    pub fn call(&mut self, names: &[&str]) -> &mut Self {
        let calls: Vec<Value> = names
            .iter()
            .map(|name| json!({ "id": format!("call_{name}"), "type": "function", "function": { "name": name, "arguments": "{}" } }))
            .collect();
        self.push("tool_call", json!({ "calls": calls }))
    }

    pub fn result(&mut self, text: &str) -> &mut Self {
        self.push("tool_result", json!({ "results": [text] }))
    }

    /// Calls with short results.
    pub fn calls(&mut self, names: &[&str]) -> &mut Self {
        let results: Vec<String> = names.iter().map(|name| format!("{name} is done")).collect();
        self.call(names).push("tool_result", json!({ "results": results }))
    }

    /// One call with that result.
    pub fn tool(&mut self, name: &str, result: &str) -> &mut Self {
        self.call(&[name]).result(result)
    }

    pub fn last(&self) -> u64 {
        self.0.last().map_or(0, |entry| entry.id)
    }
}

/// A tape, its sidecars, the host's other data, and recorded queries.
#[derive(Default)]
pub struct Store {
    pub tape: Tape,
    pub sidecars: BTreeMap<String, Tape>,
    pub known: Vec<(recall::Source, String)>,
    /// The error of reads beyond the window.
    pub broken: Option<ErrorKind>,
    pub asked: RefCell<Vec<u32>>,
    pub read: RefCell<usize>,
}

impl Store {
    pub fn of(tape: Tape) -> Self {
        Self { tape, ..Self::default() }
    }
}

impl Source for Store {
    fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>, Error> {
        let seen: Vec<&Entry> =
            self.tape.0.iter().filter(|entry| before.is_none_or(|before| entry.id < before)).collect();
        let from = seen.len().saturating_sub(max as usize);
        *self.read.borrow_mut() += seen.len() - from;
        Ok(seen[from..].iter().map(|entry| (*entry).clone()).collect())
    }

    fn first(&self) -> Result<Option<Entry>, Error> {
        Ok(self.tape.0.first().cloned())
    }

    fn query(&self, sidecar: Option<&str>, query: &Query, max: u32, timeout_ms: u32) -> Result<Vec<Entry>, Error> {
        self.asked.borrow_mut().push(timeout_ms);
        if let Some(kind) = self.broken {
            return Err(Error::new(kind, "it is broken"));
        }
        let entries = match sidecar {
            None => self.tape.0.clone(),
            Some(name) => self.sidecars.get(name).cloned().unwrap_or_default().0,
        };
        let named = |entry: &Entry| {
            query.name.as_ref().is_none_or(|name| {
                serde_json::from_str::<Value>(&entry.payload).is_ok_and(|payload| payload["name"] == name.as_str())
            })
        };
        let mut found: Vec<Entry> = entries.into_iter().filter(named).collect();
        if query.newest_first {
            found.reverse();
        }
        found.truncate(query.limit.unwrap_or(max).min(max) as usize);
        Ok(found)
    }

    /// Texts that share a word with the question, as the host would return them.
    fn recall(&self, question: &str, options: &recall::Options) -> Result<recall::Answer, Error> {
        self.asked.borrow_mut().push(options.timeout_ms);
        if let Some(kind) = self.broken {
            return Err(Error::new(kind, "it is broken"));
        }
        let words: Vec<String> =
            bub_estimate::terms(question).into_keys().filter(|term| !term.starts_with('~')).collect();
        let hits = self.known.iter().filter(|(source, text)| {
            let text = text.to_lowercase();
            options.sources.contains(source) && words.iter().any(|word| text.contains(word.as_str()))
        });
        let hit = |(source, text): &(recall::Source, String)| recall::Hit {
            text: text.clone(),
            score: 0.8,
            source: *source,
            date: String::new(),
            entry: None,
            tainted: false,
        };
        let hits = hits.map(hit).filter(|hit| hit.score >= options.min_score).collect();
        Ok(recall::Answer { hits, missed: Vec::new() })
    }
}
