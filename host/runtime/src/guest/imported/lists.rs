//! Copies of lists that are long, or that turns are given again and again.

use bub_recordings::{Packed, Texts};
use bub_types::{Effect, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;

/// Bytes from which on a list of texts is held where equal ones may share it.
const LONG: usize = 1 << 10;

/// Packs strings: long lists, such as the messages of a request, share what is equal.
pub(in crate::guest) fn pack_strings(list: &[String], packed: &mut Packed) {
    let bytes: usize = list.iter().map(String::len).sum();
    if bytes < LONG {
        packed.list(list.len());
        return list.iter().for_each(|text| packed.text(text));
    }
    let texts = Texts::shared(list.iter().map(String::as_str));
    packed.held(texts.bytes(), Box::new(move || texts.iter().map(Value::from).collect()));
}

/// Packs descriptions of tools.
pub(in crate::guest) fn pack_tools(list: &[ToolSpec], packed: &mut Packed) {
    let tools = Tools::of(list);
    packed.held(tools.weight(), Box::new(move || tools.shown()));
}

/// Descriptions of tools. Turns are given the same ones again and again, which have one copy.
struct Tools(Arc<KeptTools>);

struct KeptTools {
    /// The name, the description and the parameters of each.
    texts: Texts,
    others: Vec<(bool, Effect, bool)>,
}

/// The latest lists that differ: those of the model and of hooks, of a few sessions.
static LATEST: Mutex<[Option<Arc<KeptTools>>; 8]> = Mutex::new([const { None }; 8]);

impl Tools {
    fn of(list: &[ToolSpec]) -> Self {
        let mut latest = LATEST.lock();
        if let Some(known) = latest.iter().flatten().find(|known| known.is(list)) {
            return Self(known.clone());
        }
        let kept = Arc::new(KeptTools::of(list));
        latest.rotate_right(1);
        latest[0] = Some(kept.clone());
        Self(kept)
    }

    fn weight(&self) -> usize {
        self.0.texts.bytes() + self.0.others.len() * size_of::<ToolSpec>()
    }

    fn shown(&self) -> Value {
        json!(self.0.list())
    }
}

impl KeptTools {
    fn of(list: &[ToolSpec]) -> Self {
        Self { texts: Texts::new(list.iter().flat_map(texts)), others: list.iter().map(others).collect() }
    }

    /// Whether it is a copy of that list.
    fn is(&self, list: &[ToolSpec]) -> bool {
        self.others.iter().copied().eq(list.iter().map(others)) && self.texts.are(list.iter().flat_map(texts))
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
