//! Copies of lists in few blocks of memory.

use super::crosses::Crosses;
use crate::guest::bindings::{entries, exchange};
use crate::plugin::recording::Texts;
use bub_types::{Effect, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;

/// A copy of a list, as a recording holds it until it is written.
pub(in crate::guest) trait KeptList: Send + 'static {
    /// About how many bytes it holds.
    fn weight(&self) -> usize;

    /// The list as JSON.
    fn shown(&self) -> Value;
}

/// Each copied by itself.
pub(in crate::guest) struct Each<T: Crosses>(Vec<T::Kept>);

impl<T: Crosses> Each<T> {
    pub(in crate::guest) fn of(list: &[T]) -> Self {
        Self(list.iter().map(T::kept).collect())
    }
}

impl<T: Crosses + 'static> KeptList for Each<T> {
    fn weight(&self) -> usize {
        self.0.iter().map(T::weight).sum()
    }

    fn shown(&self) -> Value {
        self.0.iter().map(T::shown).collect()
    }
}

/// Strings.
pub(in crate::guest) struct Strings(Texts);

impl Strings {
    pub(in crate::guest) fn of(list: &[String]) -> Self {
        Self(Texts::new(list.iter().map(String::as_str)))
    }
}

impl KeptList for Strings {
    fn weight(&self) -> usize {
        self.0.bytes()
    }

    fn shown(&self) -> Value {
        self.0.iter().map(Value::from).collect()
    }
}

/// Descriptions of tools. Turns are given the same ones again and again, which have one copy.
pub(in crate::guest) struct Tools(Arc<KeptTools>);

struct KeptTools {
    /// The name, the description and the parameters of each.
    texts: Texts,
    others: Vec<(bool, Effect, bool)>,
}

/// The latest lists that differ: those of the model and of hooks, of a few sessions.
static LATEST: Mutex<[Option<Arc<KeptTools>>; 8]> = Mutex::new([const { None }; 8]);

impl Tools {
    pub(in crate::guest) fn of(list: &[ToolSpec]) -> Self {
        let mut latest = LATEST.lock();
        if let Some(known) = latest.iter().flatten().find(|known| known.is(list)) {
            return Self(known.clone());
        }
        let kept = Arc::new(KeptTools::of(list));
        latest.rotate_right(1);
        latest[0] = Some(kept.clone());
        Self(kept)
    }
}

impl KeptTools {
    fn of(list: &[ToolSpec]) -> Self {
        Self { texts: Texts::new(list.iter().flat_map(texts)), others: list.iter().map(others).collect() }
    }

    /// Whether it is a copy of that list.
    fn is(&self, list: &[ToolSpec]) -> bool {
        self.others.iter().copied().eq(list.iter().map(others)) && self.texts.iter().eq(list.iter().flat_map(texts))
    }

    fn list(&self) -> Vec<ToolSpec> {
        let mut texts = self.texts.iter().map(str::to_owned);
        let mut next = || texts.next().unwrap_or_default();
        let tool = |&(for_model, effect, reads_outside): &(bool, Effect, bool)| ToolSpec {
            name: next(),
            description: next(),
            parameters: next(),
            for_model,
            effect,
            reads_outside,
        };
        self.others.iter().map(tool).collect()
    }
}

fn texts(tool: &ToolSpec) -> [&str; 3] {
    [&tool.name, &tool.description, &tool.parameters]
}

fn others(tool: &ToolSpec) -> (bool, Effect, bool) {
    (tool.for_model, tool.effect, tool.reads_outside)
}

impl KeptList for Tools {
    fn weight(&self) -> usize {
        self.0.texts.bytes() + self.0.others.len() * size_of::<ToolSpec>()
    }

    fn shown(&self) -> Value {
        json!(self.0.list())
    }
}

/// Entries of a tape.
pub(in crate::guest) struct Entries {
    /// The kind, the payload, the meta and the date of each.
    texts: Texts,
    ids: Vec<u64>,
}

impl Entries {
    pub(in crate::guest) fn of(list: &[entries::Entry]) -> Self {
        let texts = list.iter().flat_map(|entry| [&*entry.kind, &*entry.payload, &*entry.meta, &*entry.date]);
        Self { texts: Texts::new(texts), ids: list.iter().map(|entry| entry.id).collect() }
    }
}

impl KeptList for Entries {
    fn weight(&self) -> usize {
        self.texts.bytes() + self.ids.len() * size_of::<u64>()
    }

    fn shown(&self) -> Value {
        let mut texts = self.texts.iter().map(str::to_owned);
        let mut next = || texts.next().unwrap_or_default();
        let entry = |&id: &u64| json!(entries::Entry { id, kind: next(), payload: next(), meta: next(), date: next() });
        self.ids.iter().map(entry).collect()
    }
}

/// A request to a model.
pub(crate) struct KeptRequest {
    messages: Strings,
    tools: Tools,
    /// Without both.
    rest: exchange::Request,
}

impl KeptRequest {
    pub(crate) fn of(request: &exchange::Request) -> Self {
        let exchange::Request { model, max_tokens, purpose, options, messages, tools } = request;
        let rest = exchange::Request {
            model: model.clone(),
            messages: Vec::new(),
            tools: Vec::new(),
            max_tokens: *max_tokens,
            purpose: purpose.clone(),
            options: options.clone(),
        };
        Self { messages: Strings::of(messages), tools: Tools::of(tools), rest }
    }

    pub(crate) fn weight(&self) -> usize {
        self.messages.weight() + self.tools.weight()
    }

    pub(crate) fn shown(&self) -> Value {
        let mut shown = json!(self.rest);
        for (name, list) in [("messages", self.messages.shown()), ("tools", self.tools.shown())] {
            if let Some(place) = shown.get_mut(name) {
                *place = list;
            }
        }
        shown
    }
}
