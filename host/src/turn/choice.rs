//! Which selector a turn has: what the session says goes before the channel, and that before the user's word for all.

use super::Turn;
use crate::tape::{self, Sought, json};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The event in which a session chooses.
const SWITCH: &str = "selector_switch";

/// The choice that is none.
const DEFAULT: &str = "default";

impl Turn {
    /// The name of the selector that is chosen; none: nobody has chosen.
    pub(crate) async fn selector(&self) -> tape::Result<Option<&str>> {
        let choose = async || {
            let session = self.session_selector().await?;
            let configured = || self.calls.host.config.selector(&self.message.channel).map(str::to_owned);
            let chosen = session.or_else(configured);
            tape::Result::Ok(chosen.filter(|name| name != DEFAULT))
        };
        Ok(self.selector.get_or_try_init(choose).await?.as_deref())
    }

    /// What a person said on this session's tape. An event with a plugin's name in its meta was not written by the agent
    /// itself, and chooses nothing.
    async fn session_selector(&self) -> tape::Result<Option<String>> {
        let newest = self.tape().await?.newest(&Sought::event(SWITCH)).await?;
        let own = newest.filter(|entry| json::get(&entry.meta, "plugin").is_none());
        Ok(own.and_then(|entry| {
            let name = json::get(json::get(&entry.payload, "data")?, "selector")?;
            json::string(name).filter(|name| !name.is_empty())
        }))
    }

    /// That plugin has selected for a model call of the turn.
    pub(crate) fn selected_by(&self, plugin: &str) {
        let mut selected = self.selected.lock().unwrap_or_else(PoisonError::into_inner);
        if !selected.contains(plugin) {
            selected.insert(plugin.to_owned());
        }
    }

    /// Whether it has.
    pub(crate) fn has_selected(&self, plugin: &str) -> bool {
        self.selected.lock().unwrap_or_else(PoisonError::into_inner).contains(plugin)
    }

    /// Whether the default selector has taken the place of the chosen one.
    pub(crate) fn fell_back(&self) -> bool {
        self.fell_back.load(Ordering::Relaxed)
    }

    /// It does so from here on. Whether it did so before.
    pub(crate) fn fall_back(&self) -> bool {
        self.fell_back.swap(true, Ordering::Relaxed)
    }

    /// What a model's provider has reported lately, in relation to what is estimated; the same for the whole turn.
    pub(crate) fn ratio(&self, model: &str) -> gist::Ratio {
        let mut ratios = self.ratios.lock().unwrap_or_else(PoisonError::into_inner);
        *ratios.entry(model.to_owned()).or_insert_with(|| self.calls.host.budget.ratio(model))
    }
}
