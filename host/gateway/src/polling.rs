//! Discovers the channels that plugins provide, and polls them.

use super::channels::ChannelSources;
use super::gateway::{BACKOFF, Gateway};
use super::inbox::ReadCursor;
use bub_postgres::Fence;
use bub_runtime::hooks;
use bub_runtime::hooks::GuestChannel;
use bub_runtime::host::Host;
use bub_runtime::turn::CallScope;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How often changes of plugins and grants are looked for, and whether a message can be accepted again.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How often a worker looks whether it can poll a channel that another one polls.
const LEASE_INTERVAL: Duration = Duration::from_secs(3);

impl Gateway {
    /// Polls the channels, and discovers them again after a change, until the gateway stops.
    pub(super) async fn watch_channels(self: Arc<Self>) {
        self.poll_all();
        while self.stopping.run_until_cancelled(sleep(CHECK_INTERVAL)).await.is_some() {
            self.refresh_channels().await;
        }
    }

    /// Whether a channel of that name is polled: people write there, where a channel that gets requests may serve programs.
    pub(super) fn is_polled(&self, channel: &str) -> bool {
        self.channels.get(channel).is_some_and(|channel| channel.supports_polling)
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
        let mut lease = None;
        while let Some(channel) = self.channels.get(&name).filter(|_| !self.is_stopping()) {
            if let Some(cluster) = &self.cluster {
                // One worker polls a channel; the others look now and then whether it still does.
                lease = cluster.poll_lease(&name, lease).await;
                if lease.is_none() {
                    sleep(LEASE_INTERVAL).await;
                    continue;
                }
            }
            match self.poll_once(&channel, lease.as_ref().map(|lease| lease.fence().clone())).await {
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
    async fn poll_once(
        self: &Arc<Self>,
        channel: &GuestChannel,
        lease: Option<Fence>,
    ) -> Result<Duration, (Duration, String)> {
        let failed = |error: anyhow::Error| (Duration::ZERO, error.to_string());
        // Messages that cannot be accepted stay on the channel's server.
        while self.load().1 >= self.host().config.serve.max_waiting {
            sleep(CHECK_INTERVAL).await;
        }
        let cursor = self.inbox.cursor(channel.name.clone()).await.map_err(failed)?;
        let inbox = channel.poll(&CallScope::new(&self.host()), cursor).await;
        let inbox = inbox.map_err(|failure| (failure.retry_after().unwrap_or_default(), failure.to_string()))?;
        let cursor = ReadCursor { channel: channel.name.clone(), cursor: inbox.cursor, lease };
        self.receive_arrivals(inbox.arrivals, Some(cursor)).await.map_err(failed)?;
        Ok(inbox.wait)
    }

    /// Replaces the host for the turns, polls and deliveries that start from now on. Running turns keep the host that they
    /// started with; polls restart, because one may wait for hours.
    pub async fn reload(self: &Arc<Self>, host: Arc<Host>) {
        self.turn_limiter.resize(host.config.serve.max_turns);
        *self.host.write() = host;
        self.refresh_channels().await;
    }
}
