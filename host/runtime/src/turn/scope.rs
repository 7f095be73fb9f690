//! The plugins that a turn can call: those that served when it began.

use super::options::Identity;
use crate::channel::Channel;
use crate::host::Host;
use crate::plugin::recording::TurnRecorder;
use crate::plugin::{Plugin, PluginSet};
use bub_permissions::Grant;
use bub_tape::Media;
use bub_types::hook::Hook;
use std::sync::Arc;

/// The host and the plugins that a turn can call: those that served when it began.
pub struct CallScope {
    /// The host that the turn began with.
    pub host: Arc<Host>,
    /// The plugins that served then.
    pub plugins: Arc<PluginSet>,
    /// Media, which guests see as placeholders.
    pub media: Media,
    /// Replaces the host's channel for envelopes that no plugin delivers.
    pub(super) channel: Option<Arc<dyn Channel>>,
    /// The identity of the sender of the message that is asked about before its turn begins, where its channel does not
    /// know better.
    pub(super) identity: Option<Identity>,
    /// Collects the calls of the turn, if it is recorded.
    pub recorder: Option<Arc<TurnRecorder>>,
}

impl CallScope {
    /// The plugins that serve at this moment.
    pub fn new(host: &Arc<Host>) -> Arc<Self> {
        Self::with_channel(host, None)
    }

    /// The same; what no plugin delivers goes there, where it is not the host's channel that takes it.
    pub fn with_channel(host: &Arc<Host>, channel: Option<Arc<dyn Channel>>) -> Arc<Self> {
        Arc::new(Self::of(host, channel))
    }

    /// The same for a turn that is recorded if the configuration says so.
    pub(super) fn for_turn(host: &Arc<Host>, channel: Option<Arc<dyn Channel>>) -> Arc<Self> {
        let is_recorded = host.config.record.is_on() && !host.config.is_trial && !host.recordings.is_playback();
        let recorder = is_recorded.then(|| Arc::new(TurnRecorder::new(host.recordings.writer.begin_turn())));
        Arc::new(Self { recorder, ..Self::of(host, channel) })
    }

    fn of(host: &Arc<Host>, channel: Option<Arc<dyn Channel>>) -> Self {
        Self {
            host: host.clone(),
            plugins: host.plugins(),
            media: Media::default(),
            channel,
            identity: None,
            recorder: None,
        }
    }

    /// The channel for envelopes that no plugin delivers.
    pub fn channel(&self) -> &dyn Channel {
        self.channel.as_deref().unwrap_or_else(|| self.host.channel())
    }

    /// The plugins that implement that hook and may be asked it unasked, latest registered first. An export is authority
    /// as much as an import is: one that is not granted is not called.
    pub fn granted(&self, hook: Hook) -> impl DoubleEndedIterator<Item = &Arc<Plugin>> {
        self.plugins.exporting(hook).filter(move |plugin| self.may_answer(plugin, hook))
    }

    /// Whether the plugin implements that hook and is granted it.
    pub fn may_answer(&self, plugin: &Plugin, hook: Hook) -> bool {
        plugin.implements(hook) && self.host.grants.allows(plugin, &Grant::hook(hook))
    }

    /// A gate that is configured and cannot judge a tool call: it did not load, or lacks its grant. Calls that it
    /// would have judged are denied.
    pub fn absent_gate(&self) -> Option<&str> {
        self.host.config.gates().find(|gate| match self.plugins.iter().find(|plugin| plugin.name == *gate) {
            None => true,
            Some(plugin) => plugin.implements(Hook::BeforeToolCall) && !self.may_answer(plugin, Hook::BeforeToolCall),
        })
    }

    /// The plugin that implements that model provider.
    pub fn provider(&self, name: &str) -> Option<&Arc<Plugin>> {
        self.plugins.provider(name).filter(|plugin| self.may_answer(plugin, Hook::Provider))
    }
}
