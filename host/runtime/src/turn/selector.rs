//! The selector of a turn.

use super::choice::SelectorChoice;
use super::data::Turn;
use std::sync::atomic::Ordering;

impl Turn {
    /// The name of the chosen selector, if there is one.
    pub async fn selector(&self) -> bub_tape::Result<Option<&str>> {
        let chosen = self.selector.get_or_try_init(|| self.current_selector()).await?;
        Ok(chosen.as_ref().map(|choice| choice.name.as_str()))
    }

    /// The choice that the next turn will find: this one keeps that with which it began to select.
    pub async fn current_selector(&self) -> bub_tape::Result<Option<SelectorChoice>> {
        SelectorChoice::of_session(&self.scope.host.config, &self.message.channel, &self.tape().await?).await
    }

    /// That plugin has selected for a model call of the turn.
    pub fn selected_by(&self, plugin: &str) {
        let mut selected = self.selected.lock();
        if !selected.contains(plugin) {
            selected.insert(plugin.to_owned());
        }
    }

    /// Whether it has.
    pub fn has_selected(&self, plugin: &str) -> bool {
        self.selected.lock().contains(plugin)
    }

    /// Whether the default selector has taken the place of the chosen one.
    pub fn fell_back(&self) -> bool {
        self.fell_back.load(Ordering::Relaxed)
    }

    /// It does so from here on. Whether it did so before.
    pub fn fall_back(&self) -> bool {
        self.fell_back.swap(true, Ordering::Relaxed)
    }

    /// The ratio of reported to estimated tokens of a model, from its provider's latest reports; the same for the whole
    /// turn.
    pub fn token_calibration(&self, model: &str) -> bub_estimate::Ratio {
        let mut calibrations = self.calibrations.lock();
        *calibrations.entry(model.to_owned()).or_insert_with(|| self.scope.host.budget.token_calibration(model))
    }
}
