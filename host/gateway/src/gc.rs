//! Garbage collection beside the turns, soon after the start and once a day.

use super::gateway::Gateway;
use bub_runtime::host::{Compacted, compact_memories, garbage};
use bub_types::text;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The pause between two rounds.
const INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

impl Gateway {
    /// Collects garbage until the gateway stops.
    pub(super) async fn run_gc(self: Arc<Self>) {
        loop {
            self.gc_tapes().await;
            self.gc_memories().await;
            self.gc_inbox().await;
            // Only the pause is cancelled, never a write to a tape.
            if self.stopping.run_until_cancelled(sleep(INTERVAL)).await.is_none() {
                return;
            }
        }
    }

    async fn gc_tapes(&self) {
        let host = self.host();
        // It reads directories, and a disk may be slow.
        let found = tokio::task::spawn_blocking(move || garbage(&host.config, false)).await;
        match found.map_err(anyhow::Error::from).and_then(|found| found) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => {
                let bytes = text::bytes(found.iter().map(|leftover| leftover.bytes).sum());
                let files = text::count(found.len() as u64, "file", "files");
                tracing::info!("gc: removed {files} of {bytes} from the tapes");
            }
            Err(error) => tracing::warn!("gc: unused files of tapes are not removed: {error:#}"),
        }
    }

    async fn gc_memories(&self) {
        let host = self.host();
        match compact_memories(&host.tapes(), host.config.tapes.memory_history_days, false).await {
            Ok(Compacted { entries: 0, .. }) => {}
            Ok(Compacted { entries, tapes }) => {
                let entries = text::count(entries, "entry", "entries");
                let tapes = text::count(tapes, "tape", "tapes");
                tracing::info!("gc: removed {entries} with old versions of memories from {tapes}");
            }
            Err(error) => tracing::warn!("gc: old versions of memories are not removed: {error:#}"),
        }
    }

    async fn gc_inbox(&self) {
        match self.inbox.purge_done().await {
            Ok(0) => {}
            Ok(count) => {
                let messages = text::count(count as u64, "message", "messages");
                tracing::info!("gc: removed {messages} from the inbox database whose turns ended more than a week ago");
            }
            Err(error) => tracing::warn!("gc: old messages stay in the inbox database: {error:#}"),
        }
    }
}
