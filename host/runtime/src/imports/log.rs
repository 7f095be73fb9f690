//! `bub:plugin/log`: a guest's lines in the host's log, one line each, under the plugin's name.

use crate::guest::State;
use crate::guest::bindings::log::{Host, Level};
use bub_types::text::one_line;
use wasmtime::Result;

impl Host for State {
    async fn log(&mut self, level: Level, message: String) -> Result<()> {
        let (plugin, message) = (&self.plugin.name, one_line(&message));
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
