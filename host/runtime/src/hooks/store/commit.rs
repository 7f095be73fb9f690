//! A write to a plugin that keeps tapes: the host gives the ids, the plugin says whether they are still the next ones.

use super::{GuestStore, Written, wit};
use crate::guest::bindings::entries;
use bub_tape::{Batch, Commit, Draft, Error, Outcome, Result, Store};
use std::io;

/// How often others may be faster before a write gives up. There is no wait in between: who waits finds the ids used up
/// once more, and a writer that never pauses leaves only the time of its own way to the store.
const TRIES: usize = 100;

/// The largest id that is given, as in the stores of the host itself.
const LARGEST_ID: u64 = i64::MAX as u64;

/// Writes all batches, or nothing. The first writer wins, unless the caller gave the id that it expects.
pub(super) async fn commit(store: &GuestStore, commit: Commit) -> Result<Outcome> {
    let Some(tape) = commit.tape()?.map(str::to_owned) else {
        return Ok(Outcome::Stored(Vec::new()));
    };
    check_drafts(store, &commit)?;
    let mut lasts = lasts(store, &tape, &commit).await?;
    for _ in 0..TRIES {
        let Numbered { batches, first } = number(&tape, &commit, &lasts)?;
        match store.write(&tape, &batches, commit.key.as_deref()).await? {
            Written::Stored => {
                // A tape takes its sidecars with it.
                if commit.batches.iter().any(|batch| batch.reset.is_some()) {
                    store.lasts().clear();
                }
                for (batch, first) in commit.batches.iter().zip(&first) {
                    store.seen_last(&batch.tape, first - 1 + batch.drafts.len() as u64);
                }
                return Ok(Outcome::Stored(first));
            }
            Written::Already => {
                store.lasts().clear();
                return Ok(Outcome::Already);
            }
            Written::Conflict(now) => {
                for (batch, now) in commit.batches.iter().zip(&now) {
                    store.seen_last(&batch.tape, *now);
                    let emptied = is_emptied(&tape, &commit, batch);
                    if !emptied && batch.expect_last.is_some_and(|expected| expected != *now) {
                        return Err(Error::Conflict { last: *now });
                    }
                }
                lasts = now;
            }
        }
    }
    let source = io::Error::other(format!("another process wrote first {TRIES} times"));
    Err(Error::Io { action: format!("write tape `{tape}`"), source })
}

/// Refuses what could not stand on a line, and what the plugin could not hand back at once: the tape would end there.
fn check_drafts(store: &GuestStore, commit: &Commit) -> Result<()> {
    let longest = store.longest_entry();
    for batch in &commit.batches {
        let kept = batch.reset.iter().flat_map(|reset| &reset.kept);
        for draft in kept.chain(&batch.drafts) {
            if draft.payload().contains('\n') || draft.meta().contains('\n') {
                return Err(Error::InvalidInput("an entry spans lines".to_owned()));
            }
            let length = draft.kind().len() + draft.payload().len() + draft.meta().len() + draft.date().len();
            if length > longest {
                let message =
                    format!("an entry of {length} bytes is longer than the plugin that keeps tapes may hand back");
                return Err(Error::InvalidInput(message));
            }
        }
    }
    Ok(())
}

/// Whether the batch's tape is empty before the batch's own entries are written.
fn is_emptied(tape: &str, commit: &Commit, batch: &Batch) -> bool {
    batch.reset.is_some() || commit.batches.iter().any(|batch| batch.tape == tape && batch.reset.is_some())
}

fn keeps(batch: &Batch) -> bool {
    batch.reset.as_ref().is_some_and(|reset| !reset.kept.is_empty())
}

/// The last id of each batch's tape: what the caller expects, else what was seen last, else what the plugin says.
async fn lasts(store: &GuestStore, tape: &str, commit: &Commit) -> Result<Vec<u64>> {
    let mut lasts = Vec::with_capacity(commit.batches.len());
    for batch in &commit.batches {
        let emptied = is_emptied(tape, commit, batch);
        // Without a write, a wrong hint is not found out.
        let seen = store.lasts().get(&batch.tape).copied().filter(|_| !batch.drafts.is_empty());
        lasts.push(match batch.expect_last.filter(|_| !emptied).or(seen) {
            Some(last) => last,
            // No entry of the batch counts from there.
            None if emptied && !keeps(batch) => 0,
            None => store.last_id(&batch.tape).await?,
        });
    }
    Ok(lasts)
}

struct Numbered {
    batches: Vec<wit::Batch>,
    /// For each batch the id of its first entry, or of the one that would come next.
    first: Vec<u64>,
}

fn number(tape: &str, commit: &Commit, lasts: &[u64]) -> Result<Numbered> {
    let mut numbered = Numbered { batches: Vec::new(), first: Vec::new() };
    for (batch, last) in commit.batches.iter().zip(lasts) {
        let emptied = is_emptied(tape, commit, batch);
        if emptied && batch.expect_last.is_some_and(|expected| expected != 0) {
            return Err(Error::Conflict { last: 0 });
        }
        // The write is right only behind the last id that it was made for.
        let depends = keeps(batch) || (!emptied && (batch.expect_last.is_some() || !batch.drafts.is_empty()));
        let behind = if emptied { 0 } else { *last };
        let (first, entries) = entries(behind, &batch.drafts)?;
        numbered.first.push(first);
        numbered.batches.push(wit::Batch {
            tape: batch.tape.clone(),
            last: depends.then_some(*last),
            reset: batch.reset.as_ref().map(|reset| reset_of(*last, reset)).transpose()?,
            entries,
        });
    }
    Ok(numbered)
}

fn reset_of(last: u64, reset: &bub_tape::Reset) -> Result<wit::Reset> {
    let (_, kept) = entries(last, &reset.kept)?;
    Ok(wit::Reset { archive: reset.archive.clone(), kept })
}

/// The drafts as entries behind `last`, and the id of the first.
fn entries(last: u64, drafts: &[Draft]) -> Result<(u64, Vec<entries::Entry>)> {
    let room = last.checked_add(drafts.len() as u64).is_some_and(|sum| sum < LARGEST_ID);
    if !room {
        return Err(Error::InvalidInput(format!("no ids are left after {last}")));
    }
    let entries = (last + 1..).zip(drafts).map(|(id, draft)| entries::Entry {
        id,
        kind: draft.kind().to_owned(),
        payload: draft.payload().to_owned(),
        meta: draft.meta().to_owned(),
        date: draft.date().to_owned(),
    });
    Ok((last + 1, entries.collect()))
}
