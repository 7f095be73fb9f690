//! Opens the plugins that the first turn will call, while others are still loaded: a process that ends after one turn would
//! otherwise open them one after the other within the turn.

use super::loaded::{Plugin, Source};
use bub_types::hook::Hook;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Hooks that each turn calls in all embedded guests that implement them.
const CALLED_BY_EACH_TURN: [Hook; 2] = [Hook::ResolveSession, Hook::SystemPrompt];

/// A thread that opens plugins, and which plugins it gets.
pub struct OpenAhead {
    thread: Sender<Arc<Plugin>>,
    /// The provider of the configured model.
    provider: Option<String>,
}

impl OpenAhead {
    /// `thread` opens what it receives. `model` is the one that the first turn will ask, as in `provider:model`.
    pub fn new(thread: Sender<Arc<Plugin>>, model: &str) -> Self {
        Self { thread, provider: model.split_once(':').map(|(provider, _)| provider.to_owned()) }
    }

    /// Has the plugin opened if the first turn will call it. Embedded guests only: whether another one is called, its
    /// grants decide.
    pub(super) fn consider(&self, plugin: &Arc<Plugin>) {
        let is_provider = plugin.provider.is_some() && plugin.provider == self.provider;
        let is_called = is_provider || CALLED_BY_EACH_TURN.iter().any(|hook| plugin.implements(*hook));
        if is_called && plugin.source == Source::Embedded {
            // A thread that has ended costs no more than the time: the first call opens what is not open.
            let _ = self.thread.send(plugin.clone());
        }
    }
}
