//! The fake tape.

use super::world::{World, check};
use crate::tape::{Draft, Entry, Forgotten, Hit, Info, Query, Search, Start};
use crate::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub struct Tape {
    world: Rc<RefCell<World>>,
    key: String,
    /// The tape that this is a fork of, and its length then.
    base: Option<(String, usize)>,
    merged: Cell<bool>,
}

#[derive(Debug)]
pub struct Cursor(RefCell<std::vec::IntoIter<Entry>>);

impl std::fmt::Debug for Tape {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Tape({})", self.key)
    }
}

impl Tape {
    pub fn new(world: Rc<RefCell<World>>, key: &str) -> Self {
        Self { world, key: key.to_owned(), base: None, merged: Cell::new(false) }
    }

    fn entries(&self) -> Vec<Entry> {
        self.world.borrow().tapes.get(&self.key).cloned().unwrap_or_default()
    }

    fn require_write(&self, drafts: &[Draft]) -> Result<()> {
        let world = self.world.borrow();
        match drafts.iter().all(|draft| draft.kind == "event") {
            true => world.require("tape:event").or_else(|_| world.require("tape:append")),
            false => world.require("tape:append"),
        }
    }

    pub fn name(&self) -> String {
        self.key.clone()
    }

    pub fn info(&self) -> Result<Info> {
        let entries = self.entries();
        let anchors: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == "anchor").collect();
        let last = anchors.last();
        Ok(Info {
            name: self.key.clone(),
            entries: entries.len() as u64,
            anchors: anchors.len() as u64,
            last_anchor: last.map(|anchor| name(anchor)),
            entries_since_last_anchor: entries.iter().filter(|entry| last.is_none_or(|last| entry.id > last.id)).count()
                as u64,
            last_token_usage: None,
            cache_hit_rate: None,
            unreadable: 0,
        })
    }

    pub fn append(&self, drafts: &[Draft]) -> Result<u64> {
        self.require_write(drafts)?;
        for draft in drafts {
            check(&draft.payload)?;
            check(&draft.meta)?;
        }
        let mut world = self.world.borrow_mut();
        let mut ids =
            drafts.iter().map(|draft| world.append(&self.key, &draft.kind, draft.payload.clone(), draft.meta.clone()));
        let first = ids.next().unwrap_or_default();
        ids.for_each(drop);
        Ok(first)
    }

    pub fn append_if(&self, last: u64, drafts: &[Draft]) -> Result<u64> {
        let now = self.entries().last().map_or(0, |last| last.id);
        if now != last {
            return Err(Error::new(ErrorKind::Conflict, format!("the tape's last id is {now}, not {last}")));
        }
        self.append(drafts)
    }

    pub fn handoff(&self, name: &str, state: Option<&str>) -> Result<u64> {
        let state = state.map(check).transpose()?.unwrap_or_else(|| json!({}));
        let data = json!({ "name": name, "state": state });
        let drafts = [Draft::new("anchor", &data), Draft::event("handoff", &data)];
        self.append(&drafts)
    }

    pub fn query(&self, query: &Query) -> Result<Cursor> {
        let all = self.entries();
        let begin = |entry: &Entry| match &query.start {
            Start::First => true,
            Start::LastAnchor => all.iter().rfind(|entry| entry.kind == "anchor").is_none_or(|last| entry.id > last.id),
            Start::AfterAnchor(after) => after_anchor(&all, after).is_some_and(|at| entry.id > at),
            Start::BetweenAnchors((from, to)) => {
                let (from, to) = (after_anchor(&all, from), after_anchor(&all, to));
                from.zip(to).is_some_and(|(from, to)| entry.id > from && entry.id < to)
            }
            Start::AfterId(id) => entry.id > *id,
        };
        let is_wanted = |entry: &Entry| {
            begin(entry)
                && (query.kinds.is_empty() || query.kinds.contains(&entry.kind))
                && query.name.as_ref().is_none_or(|wanted| *wanted == name(entry))
                && query.text.as_ref().is_none_or(|text| holds(entry, text))
                && query.since.as_ref().is_none_or(|since| entry.date.as_str() >= since.as_str())
                && query.until.as_ref().is_none_or(|until| entry.date.as_str() <= until.as_str())
        };
        let mut found: Vec<Entry> = all.iter().filter(|entry| is_wanted(entry)).cloned().collect();
        if query.newest_first {
            found.reverse();
        }
        found.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
        Ok(Cursor(RefCell::new(found.into_iter())))
    }

    pub fn search(&self, search: &Search) -> Result<Vec<Hit>> {
        let is_hit = |entry: &Entry| {
            (search.kinds.is_empty() || search.kinds.contains(&entry.kind)) && holds(entry, &search.text)
        };
        let hits = self.entries().into_iter().rev().filter(is_hit);
        Ok(hits.take(search.limit as usize).map(|entry| Hit { entry, score: 1.0 }).collect())
    }

    pub fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>> {
        Ok(tail(self.entries(), before, max))
    }

    pub fn last_anchor(&self, wanted: Option<&str>, before: Option<u64>) -> Result<Option<Entry>> {
        let is_wanted = |entry: &&Entry| {
            entry.kind == "anchor"
                && wanted.is_none_or(|wanted| name(entry) == wanted)
                && before.is_none_or(|before| entry.id < before)
        };
        Ok(self.entries().iter().rfind(is_wanted).cloned())
    }

    pub fn section(&self, section: &str) -> Result<Vec<Entry>> {
        let entries = self.entries();
        let at = |end: &str| {
            let wanted = format!("{section}/{end}");
            entries.iter().rposition(|entry| entry.kind == "anchor" && name(entry) == wanted)
        };
        Ok(match (at("open"), at("seal")) {
            (Some(open), Some(seal)) if open < seal => entries[open..=seal].to_vec(),
            _ => Vec::new(),
        })
    }

    /// Counts the entries, and blanks their payloads unless `dry_run`.
    pub fn forget(&self, texts: &[String], dry_run: bool) -> Result<Forgotten> {
        let mut world = self.world.borrow_mut();
        world.require("tape:append")?;
        let entries = world.tapes.entry(self.key.clone()).or_default();
        let found = entries.iter_mut().filter(|entry| texts.iter().any(|text| holds(entry, text)));
        let mut forgotten = Forgotten { entries: 0, tapes: 0 };
        for entry in found {
            (forgotten.entries, forgotten.tapes) = (forgotten.entries + 1, 1);
            if !dry_run {
                entry.payload = json!({ "content": "(forgotten)" }).to_string();
                entry.meta = json!({ "forgotten": true }).to_string();
            }
        }
        Ok(forgotten)
    }

    pub fn fork(&self) -> Result<Self> {
        let entries = self.entries();
        let mut world = self.world.borrow_mut();
        let key = format!("{}#{}", self.key, world.new_id());
        let length = entries.len();
        world.tapes.insert(key.clone(), entries);
        drop(world);
        Ok(Self {
            world: Rc::clone(&self.world),
            key,
            base: Some((self.key.clone(), length)),
            merged: Cell::new(false),
        })
    }

    pub fn merge(&self) -> Result<()> {
        let Some((base, length)) = &self.base else { return Err(Error::invalid("this tape is no fork")) };
        if self.merged.replace(true) {
            return Err(Error::invalid("this fork is merged already"));
        }
        for entry in self.entries().split_off(*length) {
            self.world.borrow_mut().append(base, &entry.kind, entry.payload, entry.meta);
        }
        Ok(())
    }

    pub fn reset(&self, archive: bool) -> Result<Option<String>> {
        let mut world = self.world.borrow_mut();
        world.require("tape:reset")?;
        let entries = world.tapes.remove(&self.key).unwrap_or_default();
        let name = archive.then(|| format!("{}.{}", self.key, world.new_id()));
        if let Some(name) = &name {
            world.tapes.insert(name.clone(), entries);
        }
        Ok(name)
    }

    pub fn sidecar(&self, name: &str) -> Result<Self> {
        self.require_write(&[])?;
        Ok(Self::new(Rc::clone(&self.world), name))
    }
}

impl Cursor {
    pub fn next(&self, max: u32) -> Result<Vec<Entry>> {
        Ok(self.0.borrow_mut().by_ref().take(max.min(256) as usize).collect())
    }
}

/// The last entries before an id.
pub fn tail(mut entries: Vec<Entry>, before: Option<u64>, max: u32) -> Vec<Entry> {
    entries.retain(|entry| before.is_none_or(|before| entry.id < before));
    entries.split_off(entries.len().saturating_sub(max as usize))
}

/// Whether all words stand in the entry, in any case.
pub fn holds(entry: &Entry, text: &str) -> bool {
    let payload = entry.payload.to_lowercase();
    text.to_lowercase().split_whitespace().all(|word| payload.contains(word))
}

fn name(entry: &Entry) -> String {
    entry.json().get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn after_anchor(entries: &[Entry], wanted: &str) -> Option<u64> {
    entries.iter().rfind(|entry| entry.kind == "anchor" && name(entry) == wanted).map(|entry| entry.id)
}
