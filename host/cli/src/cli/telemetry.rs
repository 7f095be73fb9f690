//! The export of traces, metrics and logs, while a command runs turns.

#[cfg(feature = "otel")]
mod export;

#[cfg(feature = "otel")]
pub(super) use export::{answers, export_metrics, finish, redact_with, start};
#[cfg(not(feature = "otel"))]
pub(super) use none::{answers, export_metrics, finish, redact_with, start};

/// A build without the feature `otel`: nothing is exported, and the user is told.
#[cfg(not(feature = "otel"))]
mod none {
    use bub_config::Config;
    use bub_server::Server;
    use bub_telemetry::Settings;

    const MISSING: &str = "this program was built without the feature `otel`";

    pub(in crate::cli) fn start(config: &Config) {
        if let Ok(Some(_)) = config.telemetry_settings() {
            tracing::warn!("nothing is exported: {MISSING}");
        }
    }

    pub(in crate::cli) fn redact_with(_: &Config) {}

    pub(in crate::cli) fn export_metrics(_: &Server) {}

    pub(in crate::cli) fn finish() {}

    pub(in crate::cli) async fn answers(_: &Settings) -> Result<(), String> {
        Err(MISSING.to_owned())
    }
}
