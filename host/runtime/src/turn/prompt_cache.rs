//! The results of a turn that its later steps need not compute again.

use bub_tape::{Entry, RenderedEntry};
use bub_types::CutOrder;
use bub_types::SystemPart;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of entries that a turn keeps taken apart.
const MAX_KEPT: usize = 8 << 20;

/// The inputs that a system prompt was made of: where any of them differs, it is made anew.
#[derive(PartialEq, Eq)]
pub struct CacheKey {
    /// Whether it has parts, and its text.
    pub(super) prompt: (bool, String),
    /// Digests of those who were asked, in their order.
    pub(super) asked: Vec<String>,
    pub(super) changes: u64,
    pub(super) is_tainted: bool,
}

/// A part of a system prompt, and the plugin that wrote it; none: the agent loop.
#[derive(Debug, Clone)]
pub struct WrittenPart {
    /// The plugin's name.
    pub plugin: Option<String>,
    /// The part.
    pub part: SystemPart,
}

/// The answer of the plugins to `system-prompt`: the text that the agent loop gets, and the parts that it is made of.
#[derive(Debug, Clone, Default)]
pub struct SystemPrompt {
    /// The joined text.
    pub text: Arc<str>,
    /// Its parts, each with its plugin.
    pub parts: Arc<[WrittenPart]>,
}

impl SystemPrompt {
    /// Of each part its plugin and what it says; those that say nothing are left out.
    pub fn from_parts(parts: Vec<(&str, SystemPart)>) -> Self {
        let parts = parts.into_iter().filter(|(_, part)| !part.text.is_empty());
        let parts: Vec<WrittenPart> =
            parts.map(|(plugin, part)| WrittenPart { plugin: Some(plugin.to_owned()), part }).collect();
        let texts: Vec<&str> = parts.iter().map(|written| written.part.text.as_str()).collect();
        Self { text: texts.join("\n\n").into(), parts: parts.into() }
    }

    /// A text of the agent loop's own, as one part.
    pub(super) fn own(text: &str) -> Self {
        let part = SystemPart { name: "own".to_owned(), text: text.to_owned(), cut: CutOrder::Normal };
        let parts = (!text.is_empty()).then_some(WrittenPart { plugin: None, part });
        Self { text: text.into(), parts: parts.into_iter().collect() }
    }
}

/// The system prompt that was asked for last.
pub(super) struct PromptCache {
    /// The inputs that it was made of; none where a part of them is missing.
    pub(super) key: Option<CacheKey>,
    pub(super) prompt: SystemPrompt,
}

/// Entries taken apart to be messages, by their ids. A tape that was emptied gives the same ids again, so what the entry
/// said stands beside it.
#[derive(Default)]
pub(super) struct RenderCache {
    kept: BTreeMap<u64, (Arc<str>, Arc<RenderedEntry>)>,
    bytes: usize,
}

impl RenderCache {
    pub(super) fn rendered(&mut self, entry: &Entry) -> Arc<RenderedEntry> {
        if let Some((payload, piece)) = self.kept.get(&entry.id)
            && *payload == entry.payload
        {
            return piece.clone();
        }
        let piece = Arc::new(RenderedEntry::new(entry));
        let bytes = self.bytes.saturating_add(entry.payload.len());
        if bytes <= MAX_KEPT {
            self.bytes = bytes;
            self.kept.insert(entry.id, (entry.payload.clone(), piece.clone()));
        }
        piece
    }
}
