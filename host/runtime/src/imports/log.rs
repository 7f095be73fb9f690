//! `bub:plugin/log`: a guest's lines in the host's log, one line each, under the plugin's name.

use crate::guest::State;
use crate::guest::bindings::log::{Host, Level};
use bub_types::text::one_line;
use wasmtime::Result;

/// The level's name in the call log.
fn level_name(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

impl Host for State {
    async fn log(&mut self, level: Level, message: String) -> Result<()> {
        let (plugin, message) = (&self.plugin.name, one_line(&message));
        self.host.call_log.line(&self.plugin, level_name(level), || self.host.config.redact(&message));
        match level {
            Level::Trace => tracing::trace!("plugin `{plugin}`: {message}"),
            Level::Debug => tracing::debug!("plugin `{plugin}`: {message}"),
            Level::Info => tracing::info!("plugin `{plugin}`: {message}"),
            Level::Warn => tracing::warn!("plugin `{plugin}`: {message}"),
            Level::Error => tracing::error!("plugin `{plugin}`: {message}"),
        }
        Ok(())
    }
}
