//! The channels that plugins bring, as the plugins and their grants are at this moment: asked what came, and told what came
//! by HTTP.

use super::{Gateway, PAUSE, Refusal};
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::hooks::{Arrival, GuestChannel, WebhookRequest, WebhookResponse};
use bub_runtime::host::Host;
use bub_runtime::plugin::PluginSet;
use bub_runtime::turn::CallScope;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How often it is looked whether there are other plugins, or other grants.
const LOOK: Duration = Duration::from_millis(250);

/// Channels by name, and who asks them what came.
#[derive(Default)]
pub(super) struct Channels {
    known: Mutex<BTreeMap<String, Arc<GuestChannel>>>,
    /// What they were found by. Held while they are found: one at a time.
    seen: tokio::sync::Mutex<Option<Seen>>,
    pollers: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Channels {
    pub fn get(&self, name: &str) -> Option<Arc<GuestChannel>> {
        self.known().get(name).cloned()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Arc<GuestChannel>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pollers(&self) -> MutexGuard<'_, HashMap<String, JoinHandle<()>>> {
        self.pollers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks no channel more what came. What it was about to tell it tells again.
    pub fn stop(&self) {
        self.pollers().drain().for_each(|(_, poller)| poller.abort());
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What decides which channels there are.
struct Seen {
    host: Arc<Host>,
    plugins: Arc<PluginSet>,
    granted: Vec<String>,
}

impl Seen {
    fn now(calls: &CallScope) -> Self {
        let granted = calls.granted("channel").map(|plugin| plugin.name.clone()).collect();
        Self { host: calls.host.clone(), plugins: calls.plugins.clone(), granted }
    }
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        let is_same_host = Arc::ptr_eq(&self.host, &other.host);
        is_same_host && Arc::ptr_eq(&self.plugins, &other.plugins) && self.granted == other.granted
    }
}

impl Gateway {
    /// Asks the channels that were found what came, and finds them again whenever something has changed that decides
    /// which there are, until the gateway stops.
    pub(super) async fn tend(self: Arc<Self>) {
        self.poll_all();
        while !self.is_stopping() {
            sleep(LOOK).await;
            self.find_again().await;
        }
    }

    /// Finds the channels again where something has changed that decides which there are: plugins, grants, or the
    /// configuration.
    pub(super) async fn find_again(self: &Arc<Self>) {
        let is_other = self.find().await;
        if is_other && !self.is_stopping() {
            self.poll_all();
        }
    }

    /// Finds the channels. `false`: nothing has changed, and they were not looked for.
    pub(super) async fn find(self: &Arc<Self>) -> bool {
        let mut seen = self.channels.seen.lock().await;
        let calls = &CallScope::new(&self.host());
        let now = Some(Seen::now(calls));
        if *seen == now {
            return false;
        }
        *seen = now;
        let settings = &calls.host.config.serve;
        let found = hooks::channels(calls).await.into_iter().filter(|channel| settings.enables(&channel.name));
        let found: BTreeMap<String, Arc<GuestChannel>> =
            found.map(|channel| (channel.name.clone(), Arc::new(channel))).collect();
        let before = std::mem::replace(&mut *self.channels.known(), found.clone());
        for name in found.keys().filter(|name| !before.contains_key(*name)) {
            tracing::info!("channel `{name}` is served, by plugin `{}`", found[name].plugin());
        }
        for name in before.keys().filter(|name| !found.contains_key(*name)) {
            tracing::info!("channel `{name}` is not served any more");
        }
        true
    }

    /// Asks all channels that can be asked what came, from here on, and no others.
    fn poll_all(self: &Arc<Self>) {
        let polled = self
            .channels
            .known()
            .values()
            .filter(|channel| channel.supports_polling)
            .map(|channel| channel.name.clone())
            .collect::<Vec<_>>();
        let mut pollers = self.channels.pollers();
        // A poll may wait for hours: the plugin that is gone must not go on with it.
        for (_, poller) in pollers.drain() {
            poller.abort();
        }
        for name in polled {
            let poller = tokio::spawn(Arc::clone(self).poll(name.clone()));
            pollers.insert(name, poller);
        }
    }

    /// Asks a channel what came, again and again. How far it was read is written down together with what came.
    async fn poll(self: Arc<Self>, name: String) {
        let mut pause = PAUSE.0;
        while let Some(channel) = self.channels.get(&name).filter(|_| !self.is_stopping()) {
            match self.poll_once(&channel).await {
                Ok(wait) => {
                    pause = PAUSE.0;
                    sleep(wait).await;
                }
                Err((after, why)) => {
                    let wait = after.max(pause);
                    tracing::warn!("channel `{name}` is asked again in {} seconds: {why}", wait.as_secs());
                    sleep(wait).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    async fn poll_once(self: &Arc<Self>, channel: &GuestChannel) -> Result<Duration, (Duration, String)> {
        let failed = |error: anyhow::Error| (Duration::ZERO, error.to_string());
        // What is not taken stays where it is.
        while self.load().1 >= self.host().config.serve.max_waiting {
            sleep(LOOK).await;
        }
        let cursor = self.records.cursor(channel.name.clone()).await.map_err(failed)?;
        let inbox = channel.poll(&CallScope::new(&self.host()), cursor).await;
        let inbox = inbox.map_err(|failure| (failure.retry_after().unwrap_or_default(), failure.to_string()))?;
        self.arrive(inbox.arrivals, Some((channel.name.clone(), inbox.cursor))).await.map_err(failed)?;
        Ok(inbox.wait)
    }

    /// Whether a channel of that name takes webhooks at this moment.
    pub fn takes_webhooks(&self, name: &str) -> bool {
        self.channels.get(name).is_some_and(|channel| channel.webhook)
    }

    /// Hands a channel what came by HTTP. None: there is no such channel.
    ///
    /// # Errors
    ///
    /// Why it was not handed over.
    pub async fn receive(
        self: &Arc<Self>,
        name: &str,
        request: WebhookRequest,
    ) -> Option<Result<WebhookResponse, Unreceived>> {
        let channel = self.channels.get(name).filter(|channel| channel.webhook)?;
        if self.is_stopping() {
            return Some(Err(Unreceived::Refused(Refusal::Stopping)));
        }
        let host = self.host();
        if self.load().1 >= host.config.serve.max_waiting {
            return Some(Err(Unreceived::Refused(Refusal::Busy)));
        }
        let mut response = match channel.receive(&CallScope::new(&host), request).await {
            Ok(response) => response,
            Err(failure) => return Some(Err(Unreceived::Failed(failure))),
        };
        let arrivals: Vec<Arrival> = std::mem::take(&mut response.arrivals);
        match self.arrive(arrivals, None).await {
            Ok(()) => Some(Ok(response)),
            Err(error) => Some(Err(Unreceived::Refused(Refusal::Records(error)))),
        }
    }
}

/// Why a request to a channel has no answer of the channel's.
#[derive(Debug)]
pub enum Unreceived {
    /// The gateway takes nothing.
    Refused(Refusal),
    /// The channel failed.
    Failed(Failure),
}
