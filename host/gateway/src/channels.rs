//! The channels that plugins provide: discovery, polling and webhooks.

use super::{BACKOFF, Gateway, Refusal};
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::hooks::{Arrival, GuestChannel, WebhookRequest, WebhookResponse};
use bub_runtime::host::Host;
use bub_runtime::plugin::PluginSet;
use bub_runtime::turn::CallScope;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How often changes of plugins and grants are looked for, and whether a message can be accepted again.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Channels by name, and the tasks that poll them.
#[derive(Default)]
pub(crate) struct Channels {
    by_name: Mutex<BTreeMap<String, Arc<GuestChannel>>>,
    /// What the last discovery read. Locked during a discovery.
    discovered_from: tokio::sync::Mutex<Option<ChannelSources>>,
    /// Aborted on drop.
    pollers: Mutex<JoinSet<()>>,
}

impl Channels {
    pub(crate) fn get(&self, name: &str) -> Option<Arc<GuestChannel>> {
        self.by_name.lock().get(name).cloned()
    }

    /// Aborts all polls. What they were about to return is returned again by the next process.
    pub(crate) fn stop_polling(&self) {
        self.pollers.lock().abort_all();
    }
}

/// What determines which channels exist.
struct ChannelSources {
    host: Arc<Host>,
    plugins: Arc<PluginSet>,
    granted: Vec<String>,
}

impl ChannelSources {
    fn current(calls: &CallScope) -> Self {
        let granted = calls.granted("channel").map(|plugin| plugin.name.clone()).collect();
        Self { host: calls.host.clone(), plugins: calls.plugins.clone(), granted }
    }
}

impl PartialEq for ChannelSources {
    fn eq(&self, other: &Self) -> bool {
        let is_same_host = Arc::ptr_eq(&self.host, &other.host);
        is_same_host && Arc::ptr_eq(&self.plugins, &other.plugins) && self.granted == other.granted
    }
}

impl Gateway {
    /// Polls the channels, and discovers them again after a change, until the gateway stops.
    pub(super) async fn watch_channels(self: Arc<Self>) {
        self.poll_all();
        while self.stopping.run_until_cancelled(sleep(CHECK_INTERVAL)).await.is_some() {
            self.refresh_channels().await;
        }
    }

    /// Discovers the channels again if plugins, grants or the configuration have changed.
    pub(super) async fn refresh_channels(self: &Arc<Self>) {
        let has_changed = self.discover_channels().await;
        if has_changed && !self.is_stopping() {
            self.poll_all();
        }
    }

    /// Discovers the channels. Returns `false` if nothing has changed since the last time.
    pub(super) async fn discover_channels(self: &Arc<Self>) -> bool {
        let mut discovered_from = self.channels.discovered_from.lock().await;
        let calls = &CallScope::new(&self.host());
        let current = Some(ChannelSources::current(calls));
        if *discovered_from == current {
            return false;
        }
        *discovered_from = current;
        let settings = &calls.host.config.serve;
        let channels = hooks::channels(calls).await.into_iter().filter(|channel| settings.enables(&channel.name));
        let channels: BTreeMap<String, Arc<GuestChannel>> =
            channels.map(|channel| (channel.name.clone(), Arc::new(channel))).collect();
        let before = std::mem::replace(&mut *self.channels.by_name.lock(), channels.clone());
        for (name, channel) in channels.iter().filter(|(name, _)| !before.contains_key(*name)) {
            tracing::info!("channel `{name}` of plugin `{}` is served", channel.plugin());
        }
        for name in before.keys().filter(|name| !channels.contains_key(*name)) {
            tracing::info!("channel `{name}` is no longer served");
        }
        true
    }

    /// Polls all channels that support it, from now on, and no others.
    fn poll_all(self: &Arc<Self>) {
        let names: Vec<String> = {
            let channels = self.channels.by_name.lock();
            channels.values().filter(|channel| channel.supports_polling).map(|channel| channel.name.clone()).collect()
        };
        let mut pollers = JoinSet::new();
        for name in names {
            pollers.spawn(Arc::clone(self).poll(name));
        }
        // A poll may wait for hours: the drop of the old set aborts those of plugins that were removed.
        *self.channels.pollers.lock() = pollers;
    }

    /// Polls a channel repeatedly, with exponential backoff.
    async fn poll(self: Arc<Self>, name: String) {
        let mut backoff = BACKOFF.0;
        while let Some(channel) = self.channels.get(&name).filter(|_| !self.is_stopping()) {
            match self.poll_once(&channel).await {
                Ok(wait) => {
                    backoff = BACKOFF.0;
                    sleep(wait).await;
                }
                Err((after, reason)) => {
                    let wait = after.max(backoff);
                    tracing::warn!("channel `{name}` is polled again in {} seconds: {reason}", wait.as_secs());
                    sleep(wait).await;
                    backoff = (backoff * 2).min(BACKOFF.1);
                }
            }
        }
    }

    /// Polls a channel once. The new cursor is stored together with the messages.
    async fn poll_once(self: &Arc<Self>, channel: &GuestChannel) -> Result<Duration, (Duration, String)> {
        let failed = |error: anyhow::Error| (Duration::ZERO, error.to_string());
        // Messages that cannot be accepted stay on the channel's server.
        while self.load().1 >= self.host().config.serve.max_waiting {
            sleep(CHECK_INTERVAL).await;
        }
        let cursor = self.inbox_db.cursor(channel.name.clone()).await.map_err(failed)?;
        let inbox = channel.poll(&CallScope::new(&self.host()), cursor).await;
        let inbox = inbox.map_err(|failure| (failure.retry_after().unwrap_or_default(), failure.to_string()))?;
        self.receive_arrivals(inbox.arrivals, Some((channel.name.clone(), inbox.cursor))).await.map_err(failed)?;
        Ok(inbox.wait)
    }

    /// Whether a channel of that name accepts webhooks now.
    pub fn takes_webhooks(&self, name: &str) -> bool {
        self.channels.get(name).is_some_and(|channel| channel.webhook)
    }

    /// Passes a webhook to its channel. `None`: there is no such channel.
    ///
    /// # Errors
    ///
    /// The gateway refused the webhook, or the channel failed.
    pub async fn receive(
        self: &Arc<Self>,
        name: &str,
        request: WebhookRequest,
    ) -> Option<Result<WebhookResponse, WebhookError>> {
        let channel = self.channels.get(name).filter(|channel| channel.webhook)?;
        if self.is_stopping() {
            return Some(Err(WebhookError::Refused(Refusal::Stopping)));
        }
        let host = self.host();
        if self.load().1 >= host.config.serve.max_waiting {
            return Some(Err(WebhookError::Refused(Refusal::Busy)));
        }
        let mut response = match channel.receive(&CallScope::new(&host), request).await {
            Ok(response) => response,
            Err(failure) => return Some(Err(WebhookError::Failed(failure))),
        };
        let arrivals: Vec<Arrival> = std::mem::take(&mut response.arrivals);
        match self.receive_arrivals(arrivals, None).await {
            Ok(()) => Some(Ok(response)),
            Err(error) => Some(Err(WebhookError::Refused(Refusal::Storage(error)))),
        }
    }
}

/// Why a channel did not answer a webhook.
#[derive(Debug)]
pub enum WebhookError {
    /// The gateway accepts nothing now.
    Refused(Refusal),
    /// The channel failed.
    Failed(Failure),
}
