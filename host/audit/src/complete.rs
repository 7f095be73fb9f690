//! The chain of a tape with all that it did not have: on demand, since it reads the whole tape.

use bub_tape::{CHAIN, Result, Store, check_tape_name, sidecar_name};

use super::layer::{ChainedStore, Head, of};
use super::record::{Range, Sealed};
use super::state::State;
use super::writer::{MAX_SUMS, name_of, parts, spans};

impl ChainedStore {
    /// The head of a tape's chain, once the chain has the digests of all entries of the tape and its sidecars. `None`:
    /// there is nothing.
    ///
    /// # Errors
    ///
    /// The store's.
    pub async fn complete(&self, tape: &str) -> Result<Option<Head>> {
        check_tape_name(tape)?;
        let lock = self.shared.states.of(tape);
        let mut known = lock.lock().await;
        *known = None;
        let mut end = State::read(&*self.inner, tape).await?;
        for part in parts(&*self.inner, tape).await? {
            end = self.take_in(tape, &part, end, false).await?;
        }
        for gap in gaps(&*self.inner, tape).await? {
            end = self.fill(tape, gap, end).await?;
        }
        let head = end.head().map(|head| of(tape, &end, head.hash));
        *known = Some(end);
        Ok(head)
    }

    /// Adds the digests of entries that were too many when they were found.
    async fn fill(&self, tape: &str, gap: Range, mut end: State) -> Result<State> {
        let name = name_of(tape, &gap.part)?;
        let mut after = gap.from;
        loop {
            let mut page = self.inner.read(&name, after, MAX_SUMS).await?;
            page.retain(|entry| entry.id <= gap.to);
            let Some(last) = page.last() else { return Ok(end) };
            after = last.id;
            let mut record = end.next();
            record.found = spans(&gap.part, &page);
            end = self.put(tape, record, &end).await?;
        }
    }
}

/// The entries whose digests the chain does not have, although it goes on behind them.
async fn gaps(store: &dyn Store, tape: &str) -> Result<Vec<Range>> {
    let name = sidecar_name(tape, CHAIN)?;
    let mut gaps: Vec<Range> = Vec::new();
    let mut after = 0;
    loop {
        let page = store.read(&name, after, MAX_SUMS).await?;
        let Some(last) = page.last() else { break };
        after = last.id;
        for Sealed { record, .. } in page.iter().filter_map(Sealed::parse) {
            gaps.retain(|gap| !record.cleared.contains(&gap.part));
            gaps.extend(record.skipped);
            // A gap is filled from its beginning.
            for span in &record.found {
                let is_within =
                    |gap: &&mut Range| gap.part == span.part && gap.from < span.first && span.first <= gap.to;
                if let Some(gap) = gaps.iter_mut().find(is_within) {
                    gap.from = span.first + (span.sums.len() as u64).saturating_sub(1);
                }
            }
        }
    }
    gaps.retain(|gap| gap.from < gap.to);
    Ok(gaps)
}
