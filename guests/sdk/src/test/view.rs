//! The fake view: the session's tape since its latest anchor.

use super::tape::{Tape, holds, tail};
use super::world::{SESSION, World};
use crate::tape::{Entry, Hit, Info, Query};
use crate::tool::ToolSpec;
use crate::turn::{CutOrder, Prompt, SystemPart};
use crate::view::WrittenPart;
use crate::{Error, Result};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub struct View {
    world: Rc<RefCell<World>>,
    at: Cell<usize>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("View")
    }
}

impl View {
    pub fn new(world: Rc<RefCell<World>>) -> Self {
        Self { world, at: Cell::new(0) }
    }

    pub fn require(&self, grant: &str) -> Result<()> {
        self.world.borrow().require(grant)
    }

    fn tape(&self) -> Tape {
        Tape::new(Rc::clone(&self.world), SESSION)
    }

    fn all(&self) -> Vec<Entry> {
        self.world.borrow().tapes.get(SESSION).cloned().unwrap_or_default()
    }

    /// From the latest anchor on, the anchor first.
    fn window(&self) -> Vec<Entry> {
        let mut entries = self.all();
        let anchor = entries.iter().rposition(|entry| entry.kind == "anchor").unwrap_or_default();
        entries.split_off(anchor)
    }

    pub fn next(&self, max: u32) -> Result<Vec<Entry>> {
        let page: Vec<Entry> = self.window().into_iter().skip(self.at.get()).take(max.min(256) as usize).collect();
        self.at.set(self.at.get() + page.len());
        Ok(page)
    }

    pub fn next_ids(&self, max: u32) -> Result<Vec<u64>> {
        let page: Vec<u64> =
            self.window().iter().skip(self.at.get()).take(max.min(4096) as usize).map(|entry| entry.id).collect();
        self.at.set(self.at.get() + page.len());
        Ok(page)
    }

    pub fn tail(&self, before: Option<u64>, max: u32) -> Result<Vec<Entry>> {
        Ok(tail(self.window(), before, max))
    }

    pub fn search(&self, text: &str, max: u32, _timeout_ms: u32) -> Result<Vec<Hit>> {
        let hits = self.all().into_iter().rev().filter(|entry| holds(entry, text));
        Ok(hits.take(max as usize).map(|entry| Hit { entry, score: 1.0 }).collect())
    }

    pub fn query(&self, sidecar: Option<&str>, query: &Query, max: u32, _timeout_ms: u32) -> Result<Vec<Entry>> {
        let tape = sidecar.map_or_else(|| Ok(self.tape()), |name| self.sidecar(name))?;
        tape.query(query)?.next(max)
    }

    pub fn sidecar(&self, name: &str) -> Result<Tape> {
        self.tape().sidecar(name)
    }

    pub fn info(&self) -> Info {
        let unread = |_| Info {
            name: SESSION.to_owned(),
            entries: 0,
            anchors: 0,
            last_anchor: None,
            entries_since_last_anchor: 0,
            last_token_usage: None,
            cache_hit_rate: None,
            unreadable: 0,
        };
        self.tape().info().unwrap_or_else(unread)
    }

    pub fn prompt(&self) -> Prompt {
        Prompt::Text(self.world.borrow().message.content.clone())
    }

    pub fn system_prompt(&self) -> String {
        self.world.borrow().system_prompt.clone()
    }

    pub fn system_parts(&self) -> Vec<WrittenPart> {
        let text = self.system_prompt();
        let part = SystemPart { name: "system".to_owned(), text, cut: CutOrder::Normal };
        vec![WrittenPart { plugin: None, part }]
    }

    pub fn model(&self) -> String {
        "test:model".to_owned()
    }

    pub fn budget(&self) -> Option<u32> {
        self.world.borrow().budget
    }

    pub fn token_calibration(&self) -> f64 {
        1.0
    }

    pub fn turn_start_id(&self) -> u64 {
        self.all().last().map_or(0, |last| last.id)
    }

    pub fn new_messages(&self) -> Vec<String> {
        self.world.borrow().new_messages.clone()
    }

    pub fn replace_new_messages(&self, messages: &[String]) -> Result<()> {
        let mut world = self.world.borrow_mut();
        if messages.len() != world.new_messages.len() {
            return Err(Error::invalid(format!("the turn has {} new messages", world.new_messages.len())));
        }
        world.new_messages = messages.to_vec();
        Ok(())
    }

    pub fn tools(&self) -> Vec<ToolSpec> {
        self.world.borrow().tools.iter().map(|(spec, _)| spec.clone()).collect()
    }

    pub fn state(&self, key: &str) -> Option<String> {
        self.world.borrow().state.get(key).map(ToString::to_string)
    }
}
