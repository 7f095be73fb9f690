//! From a trail to the sources of every byte.

use crate::carry::{BlamedLeaf, carry};
use crate::difference::{Change, changes};
use crate::leaves::{LeafKind, leaves, raw_places};
use crate::parts::{Item, staged};
use crate::source::{HOST, Source};
use crate::trail::{FORMAT, PartKind, RequestTrail};
use serde::Serialize;

/// Bytes of a text in which JSON is looked for.
const MAX_INSIDE: usize = 1 << 20;

/// Which source wrote which bytes of a request.
#[derive(Debug, Clone, Serialize)]
pub struct Blame {
    /// The version of this format.
    pub format: u32,
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// Which request of its turn it is, from 1.
    pub request: u32,
    /// The id of the model call, as in the meta of the entries that it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What it is for.
    pub purpose: String,
    /// The model that was asked.
    pub model: String,
    /// All sources; the first one is the host.
    pub sources: Vec<Source>,
    /// Messages, tools and settings.
    pub parts: Vec<BlamedPart>,
    /// The spans of the body, which cover it without gaps.
    pub spans: Vec<Span>,
    /// What plugins changed of tool calls of the turn.
    pub calls: Vec<BlamedCall>,
    /// The body that was sent.
    pub body: String,
}

/// A message, a tool or the settings.
#[derive(Debug, Clone, Serialize)]
pub struct BlamedPart {
    /// What it is.
    pub kind: PartKind,
    /// The role of a message, the name of a tool.
    pub name: Option<String>,
    /// The entry of the tape that a message stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
}

/// Bytes of the body with one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The place of its source in the list.
    pub source: usize,
    /// The place of its part in the list; none: what holds the parts together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The names that lead to the value, joined by dots; none: punctuation, and the name of a member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What plugins changed of one tool call.
#[derive(Debug, Clone, Serialize)]
pub struct BlamedCall {
    /// The tool.
    pub tool: String,
    /// The id that the model gave the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Changes of its arguments.
    pub arguments: Vec<Change>,
    /// Changes of its result.
    pub result: Vec<Change>,
}

impl Blame {
    /// The texts of the body that one source wrote, in their order, as they stand in it.
    pub fn texts_of(&self, source: usize) -> impl Iterator<Item = &str> {
        self.spans.iter().filter(move |span| span.source == source).map(|span| &self.body[span.start..span.end])
    }
}

/// The sources of every byte of the body of a request.
///
/// # Errors
///
/// The trail names a source that it does not have.
pub fn blame(trail: &RequestTrail) -> Result<Blame, String> {
    trail.check()?;
    let items = trail.parts.iter().map(Item::new).collect();
    let items = trail.stages.iter().fold(items, staged);
    let parts = items.iter().map(|item| BlamedPart {
        kind: item.kind,
        name: item.text(if item.kind == PartKind::Message { "role" } else { "function.name" }).map(str::to_owned),
        entry: item.entry,
    });
    let parts = parts.collect();
    let sent = leaves(&trail.body);
    let made = carry(&joined(items), &sent, HOST);
    let mut spans = Spans { spans: Vec::new(), end: 0 };
    for (leaf, BlamedLeaf { path, blamed, part, .. }) in sent.iter().zip(made) {
        spans.add(leaf.range.start, HOST, None, None);
        let ends: Vec<usize> = blamed.spans.iter().map(|(end, _)| *end).collect();
        let raw = raw_places(&trail.body[leaf.range.clone()], &ends);
        for (end, (_, source)) in raw.into_iter().zip(&blamed.spans) {
            let path = (leaf.kind != LeafKind::Name).then_some(&path);
            spans.add(leaf.range.start + end, *source, part, path);
        }
        spans.add(leaf.range.end, HOST, None, None);
    }
    spans.add(trail.body.len(), HOST, None, None);
    let calls = trail.calls.iter().map(|call| BlamedCall {
        tool: call.tool.clone(),
        id: call.id.clone(),
        arguments: changes(&call.arguments),
        result: changes(&call.result),
    });
    Ok(Blame {
        format: FORMAT,
        session: trail.session.clone(),
        turn: trail.turn.clone(),
        request: trail.request,
        run_id: trail.run_id.clone(),
        purpose: trail.purpose.clone(),
        model: trail.model.clone(),
        sources: trail.sources.clone(),
        parts,
        spans: spans.spans,
        calls: calls.filter(|call| !call.arguments.is_empty() || !call.result.is_empty()).collect(),
        body: trail.body.to_string(),
    })
}

/// All leaves of the request as one document, with the paths that a body has.
fn joined(items: Vec<Item>) -> Vec<BlamedLeaf> {
    let mut numbers = [0, 0];
    let mut all = Vec::new();
    for (part, item) in items.into_iter().enumerate() {
        let list = match item.kind {
            PartKind::Message => Some(("messages", 0)),
            PartKind::Tool => Some(("tools", 1)),
            PartKind::Settings => None,
        };
        let prefix = list.map(|(name, which)| {
            numbers[which] += 1;
            format!("{name}.{}.", numbers[which] - 1)
        });
        for leaf in item.leaves {
            let path = format!("{}{}", prefix.as_deref().unwrap_or_default(), leaf.path);
            all.push(BlamedLeaf { path, part: Some(part), ..leaf });
        }
    }
    let inside: Vec<BlamedLeaf> = all.iter().flat_map(inside).collect();
    all.extend(inside);
    all
}

/// The leaves of a text that is a JSON object itself, as the arguments of a tool call are: another protocol has the
/// object.
fn inside(leaf: &BlamedLeaf) -> Vec<BlamedLeaf> {
    let text = &leaf.blamed.text;
    if leaf.kind != LeafKind::Text || !text.starts_with('{') || text.len() > MAX_INSIDE {
        return Vec::new();
    }
    let found = leaves(text).into_iter().filter(|inner| !inner.text.is_empty());
    let found = found.map(|inner| BlamedLeaf {
        path: format!("{}.{}", leaf.path, inner.path),
        kind: inner.kind,
        // Escapes in it are no change.
        blamed: leaf.blamed.slice(inner.range.clone()).meaning(&inner.text),
        part: leaf.part,
    });
    found.collect()
}

struct Spans {
    spans: Vec<Span>,
    end: usize,
}

impl Spans {
    fn add(&mut self, end: usize, source: usize, part: Option<usize>, path: Option<&String>) {
        if end <= self.end {
            return;
        }
        let path = path.cloned();
        match self.spans.last_mut() {
            Some(last) if last.source == source && last.part == part && last.path == path => last.end = end,
            _ => self.spans.push(Span { start: self.end, end, source, part, path }),
        }
        self.end = end;
    }
}
