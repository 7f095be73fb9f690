//! The exporter of this process.

use bub_config::Config;
use bub_server::Server;
use bub_telemetry::{Exporter, Settings};
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// How long the end of a command waits for the collector.
const FLUSH: Duration = Duration::from_secs(2);

/// What runs, and the time between two exports of metrics.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

struct Running {
    exporter: Exporter,
    /// None: metrics are not exported.
    metric_interval: Option<Duration>,
}

/// Starts the exporter, if one is configured. What is wrong with it keeps no turn from running.
pub(in crate::cli) fn start(config: &Config) {
    config.telemetry.problems().iter().for_each(|problem| tracing::warn!("{problem}"));
    let settings = match config.telemetry_settings() {
        Ok(None) => return,
        Ok(Some(settings)) => settings,
        Err(error) => {
            tracing::warn!("nothing is exported: {error:#}");
            return;
        }
    };
    let metric_interval = settings.metrics.then_some(settings.metric_interval);
    match Exporter::start(settings, config.redactor()) {
        Ok(exporter) => *RUNNING.lock() = Some(Running { exporter, metric_interval }),
        Err(why) => tracing::warn!("nothing is exported: {why}"),
    }
}

/// Takes out the secrets of a configuration that has changed.
pub(in crate::cli) fn redact_with(config: &Config) {
    if let Some(running) = &*RUNNING.lock() {
        running.exporter.redact_with(config.redactor());
    }
}

/// Exports the metrics of a server from now on.
pub(in crate::cli) fn export_metrics(server: &Server) {
    let Some(interval) = RUNNING.lock().as_ref().and_then(|running| running.metric_interval) else { return };
    let metrics = server.metrics();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let samples = metrics().await;
            match &*RUNNING.lock() {
                Some(running) => running.exporter.export(samples),
                None => return,
            }
        }
    });
}

/// Sends what was recorded last, and waits for the collector a moment at most.
pub(in crate::cli) fn finish() {
    let running = RUNNING.lock().take();
    if let Some(running) = running {
        running.exporter.finish(FLUSH);
    }
}

/// Whether the collector takes an empty request.
pub(in crate::cli) async fn answers(settings: &Settings) -> Result<(), String> {
    bub_telemetry::probe(settings).await
}
