//! One of several workers on a database: takes over the plugins of the others, and reports which it has loaded.

use bub_gateway::Gateway;
use bub_postgres::WorkerTable;
use bub_runtime::plugin_sharing::{SharedPlugins, host_name};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// How often the versions of shared plugins are compared.
const COMPARE_INTERVAL: Duration = Duration::from_secs(1);

/// How often the worker reports what it runs.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// How long another process of the home that changes plugins is waited for; then the next comparison tries again.
const LOCK_WAIT: Duration = Duration::from_millis(100);

/// How long the end waits for the database.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The task of a worker.
pub(super) struct Worker {
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Worker {
    /// Starts it; `None`: there is no database to share.
    pub(super) fn start(gateway: &Arc<Gateway>) -> Option<Self> {
        gateway.host().database()?;
        let (stop, stopped) = oneshot::channel();
        Some(Self { task: tokio::spawn(work(gateway.clone(), stopped)), stop })
    }

    /// Ends it, and removes its row.
    pub(super) async fn end(self) {
        drop(self.stop);
        let _ended_or_abandoned = timeout(END_TIMEOUT, self.task).await;
    }
}

async fn work(gateway: Arc<Gateway>, mut stopped: oneshot::Receiver<()>) {
    let Some(database) = gateway.host().database().cloned() else { return };
    let mut plugins = SharedPlugins::new(database.clone());
    let row = match WorkerTable::new(database) {
        Ok(row) => row,
        Err(error) => return tracing::warn!("this worker is not reported: {error}"),
    };
    let mut last_report: Option<Instant> = None;
    // Said once, until it has ended.
    let mut trouble: Option<String> = None;
    loop {
        let host = gateway.host();
        let mut outcome = Ok(());
        if host.config.shares_plugins() {
            outcome = plugins.pull(&host.config, LOCK_WAIT).await.map(drop);
        }
        if outcome.is_ok() && last_report.is_none_or(|last| last.elapsed() >= REPORT_INTERVAL) {
            let set = host.plugins();
            let digests: BTreeMap<&str, &str> =
                set.iter().map(|plugin| (plugin.name.as_str(), plugin.digest.as_str())).collect();
            let digests = serde_json::to_string(&digests).unwrap_or_default();
            let reported = row.report(&host_name(), env!("CARGO_PKG_VERSION"), &digests).await;
            last_report = Some(Instant::now());
            outcome = reported.map_err(anyhow::Error::from);
        }
        match (outcome, &trouble) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => {
                tracing::info!("the database answers again: plugins are compared with those of the other workers");
                trouble = None;
            }
            (Err(error), None) => {
                let why = format!("{error:#}");
                tracing::warn!("plugins stay as they are until the database answers: {why}");
                trouble = Some(why);
            }
            (Err(_), Some(_)) => {}
        }
        drop(host);
        if timeout(COMPARE_INTERVAL, &mut stopped).await.is_ok() {
            break;
        }
    }
    if let Err(error) = row.remove().await {
        tracing::debug!("{error}");
    }
}
