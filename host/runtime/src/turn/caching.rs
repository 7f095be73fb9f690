//! The caches of a turn from one step to the next: prompts, rendered entries and messages of requests.

use super::data::Turn;
use super::message_cache::Message;
use super::prompt_cache::{CacheKey, PromptCache, SystemPrompt};
use bub_tape::{Entry, RenderedEntry};
use bub_types::Prompt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Turn {
    /// The part that an entry of the turn's tape adds to a conversation, kept for the next step; none for kinds that
    /// are made as quickly as they are copied.
    pub fn piece(&self, entry: &Entry) -> Option<Arc<RenderedEntry>> {
        let is_slow = matches!(&*entry.kind, "tool_call" | "tool_result");
        is_slow.then(|| self.render_cache.lock().rendered(entry))
    }

    /// Something in this turn may have changed what hooks would answer: a tool has run that does not only read, or a plugin
    /// that is not the agent has written.
    pub fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// The cache key of a system prompt: what it is made of at this moment, for that prompt and by those plugins.
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

    /// The messages of a request, each checked unless the request before had it too.
    ///
    /// # Errors
    ///
    /// One of them is not a JSON object. The error says what it is instead.
    pub fn messages(&self, texts: &[String]) -> Result<Vec<Message>, String> {
        self.sent.lock().messages(texts)
    }

    /// The messages that the models of this turn were told: each message, whether it was said before the turn, and
    /// whether there were more than are kept.
    pub(super) fn request_messages(&self) -> (Vec<(Message, bool)>, bool) {
        self.sent.lock().all()
    }
}
