//! What nobody needs any more is removed, soon after the start and once a day, beside the turns.

use super::Gateway;
use bub_runtime::host::{Compacted, compact_memories, leftovers};
use bub_types::text;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How long it is until the next round.
const ROUND: Duration = Duration::from_secs(24 * 60 * 60);

impl Gateway {
    /// Goes round until the gateway stops.
    pub(super) async fn tidy(self: Arc<Self>) {
        while !self.is_stopping() {
            self.tidy_tapes().await;
            self.tidy_memories().await;
            self.tidy_records().await;
            sleep(ROUND).await;
        }
    }

    async fn tidy_tapes(&self) {
        let host = self.host();
        // It reads directories, and a disk may be slow.
        let found = tokio::task::spawn_blocking(move || leftovers(&host.config, false)).await;
        match found.map_err(anyhow::Error::from).and_then(|found| found) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => {
                let bytes = text::bytes(found.iter().map(|leftover| leftover.bytes).sum());
                let files = text::count(found.len() as u64, "file", "files");
                tracing::info!("what nobody needs is removed from the tapes: {files} of {bytes}");
            }
            Err(error) => tracing::warn!("what is left over of tapes stays for now: {error:#}"),
        }
    }

    async fn tidy_memories(&self) {
        let host = self.host();
        match compact_memories(&host.tapes(), host.config.tapes.memory_history_days, false).await {
            Ok(Compacted { entries: 0, .. }) => {}
            Ok(Compacted { entries, tapes }) => {
                let entries = text::count(entries, "entry", "entries");
                let tapes = text::count(tapes, "tape", "tapes");
                tracing::info!("old versions of memories are taken out: {entries} of {tapes}");
            }
            Err(error) => tracing::warn!("old versions of memories stay for now: {error:#}"),
        }
    }

    async fn tidy_records(&self) {
        match self.records.forget().await {
            Ok(0) => {}
            Ok(count) => tracing::info!("messages whose turns ended more than a week ago are forgotten: {count}"),
            Err(error) => tracing::warn!("old messages stay in the records for now: {error:#}"),
        }
    }
}
