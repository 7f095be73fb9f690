//! What an erasure will change, for the record that announces it.

use bub_tape::{Erasure, Result, Store, Verdict};

use super::digest::entry_digest;
use super::record::Erased;

/// Entries per step.
const PAGE: usize = 256;

/// The entries that the erasure removes from a part, and those that stay without their words.
pub(crate) async fn plan(store: &dyn Store, name: &str, part: &str, erasure: &Erasure) -> Result<Erased> {
    let mut planned = Erased { part: part.to_owned(), ..Erased::default() };
    let mut wanted = erasure.ids().peekable();
    while let Some(next) = wanted.next() {
        let page = store.read(name, next.saturating_sub(1), PAGE).await?;
        let Some(last) = page.last().map(|last| last.id) else { break };
        for entry in &page {
            match erasure.verdict(entry) {
                Verdict::Stays => {}
                Verdict::Goes => planned.ids.push(entry.id),
                Verdict::Blanked(blank) => planned.blank.push((entry.id, entry_digest(&blank))),
            }
        }
        while wanted.next_if(|id| *id <= last).is_some() {}
        tokio::task::yield_now().await;
    }
    Ok(planned)
}
