//! What a turn need not find out again in each of its steps.

use super::super::Turn;
use crate::plugin::bindings::view::WrittenPart;
use bub_tape::{Entry, RenderedEntry};
use bub_types::CutOrder;
use bub_types::{Prompt, SystemPart};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of entries that a turn keeps taken apart.
const MAX_KEPT: usize = 8 << 20;

/// What a system prompt was made of: where any of it differs, it is made anew.
#[derive(PartialEq, Eq)]
pub struct CacheKey {
    /// Whether it has parts, and its text.
    prompt: (bool, String),
    /// Digests of those who were asked, in their order.
    asked: Vec<String>,
    changes: u64,
    is_tainted: bool,
}

/// What the plugins answered to `system-prompt`: the text that the agent loop gets, and the parts that it is made of.
#[derive(Debug, Clone, Default)]
pub struct SystemPrompt {
    /// The joined text.
    pub text: Arc<str>,
    /// Its parts, each with its plugin.
    pub parts: Arc<[WrittenPart]>,
}

impl SystemPrompt {
    /// Of each part its plugin and what it says; those that say nothing are left out.
    pub fn of(parts: Vec<(&str, SystemPart)>) -> Self {
        let parts = parts.into_iter().filter(|(_, part)| !part.text.is_empty());
        let parts: Vec<WrittenPart> =
            parts.map(|(plugin, part)| WrittenPart { plugin: Some(plugin.to_owned()), part }).collect();
        let texts: Vec<&str> = parts.iter().map(|written| written.part.text.as_str()).collect();
        Self { text: texts.join("\n\n").into(), parts: parts.into() }
    }

    /// A text of the agent loop's own: nobody knows what is in it.
    fn own(text: &str) -> Self {
        let part = SystemPart { name: "own".to_owned(), text: text.to_owned(), cut: CutOrder::Normal };
        let parts = (!text.is_empty()).then_some(WrittenPart { plugin: None, part });
        Self { text: text.into(), parts: parts.into_iter().collect() }
    }
}

/// The system prompt that was asked for last.
pub(crate) struct PromptCache {
    /// What it stands for; none where a part of it is missing.
    key: Option<CacheKey>,
    prompt: SystemPrompt,
}

/// Entries taken apart to be messages, by their ids. A tape that was emptied gives the same ids again, so what the entry
/// said stands beside it.
#[derive(Default)]
pub(crate) struct RenderCache {
    kept: BTreeMap<u64, (Arc<str>, Arc<RenderedEntry>)>,
    bytes: usize,
}

impl RenderCache {
    fn of(&mut self, entry: &Entry) -> Arc<RenderedEntry> {
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

impl Turn {
    /// What an entry of the turn's tape adds to a conversation, kept for the next step; none of kinds that are made as quickly
    /// as they are copied.
    pub fn piece(&self, entry: &Entry) -> Option<Arc<RenderedEntry>> {
        let is_slow = matches!(&*entry.kind, "tool_call" | "tool_result");
        is_slow.then(|| self.render_cache.lock().of(entry))
    }

    /// Something in this turn may have changed what hooks would answer: a tool has run that does not only read, or a plugin
    /// that is not the agent has written.
    pub fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// What a system prompt for that prompt is made of at this moment, by those plugins.
    pub fn prompt_cache_key(&self, prompt: &Prompt, asked: Vec<String>) -> CacheKey {
        let prompt = match prompt {
            Prompt::Text(text) => (false, text.clone()),
            Prompt::Parts(parts) => (true, parts.clone()),
        };
        let changes = self.changes.load(Ordering::Relaxed);
        CacheKey { prompt, asked, changes, is_tainted: self.tainted().is_some() }
    }

    /// The system prompt that was made of the same.
    pub fn cached_system_prompt(&self, key: &CacheKey) -> Option<SystemPrompt> {
        let prompt_cache = self.prompt_cache.lock();
        prompt_cache
            .as_ref()
            .filter(|prompt_cache| prompt_cache.key.as_ref() == Some(key))
            .map(|prompt_cache| prompt_cache.prompt.clone())
    }

    /// Keeps it for the next step, and its parts for the selector.
    pub fn cache_system_prompt(&self, key: Option<CacheKey>, prompt: &SystemPrompt) {
        *self.prompt_cache.lock() = Some(PromptCache { key, prompt: prompt.clone() });
    }

    /// The parts of a text that the agent loop sends as system prompt: those that the plugins answered, where it is what
    /// they answered last.
    pub fn system_prompt_parts(&self, text: &str) -> SystemPrompt {
        let prompt_cache = self.prompt_cache.lock();
        let known =
            prompt_cache.as_ref().map(|prompt_cache| &prompt_cache.prompt).filter(|prompt| *prompt.text == *text);
        known.cloned().unwrap_or_else(|| SystemPrompt::own(text))
    }
}
