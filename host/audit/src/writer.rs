//! Appends to a tape and its chain in one commit.

use bub_tape::{Batch, CHAIN, Commit, Entry, Error, Outcome, Result, Store, family, sidecar_name};

use super::digest::entry_digest;
use super::record::{ForkMark, PastChain, Range, Record, ResetMark, Sealed, Span, TAPE};
use super::state::State;

/// Entries of other programs whose digests a write adds. More are a long tape from before the chain: an append must not
/// read it.
pub(crate) const MAX_FOUND: usize = 64;

/// Digests in one record.
pub(crate) const MAX_SUMS: usize = 512;

/// Chains before a reset that are named.
pub(crate) const MAX_PAST: usize = 64;

/// Attempts against other writers before the entries are written without the chain.
pub(crate) const ATTEMPTS: usize = 8;

/// The part of a tape's family that has that name: the tape itself, or the name of the sidecar.
pub(crate) fn part_of<'n>(tape: &str, name: &'n str) -> &'n str {
    name.get(tape.len()..).and_then(|rest| rest.strip_prefix("__sidecar__")).unwrap_or(TAPE)
}

/// The name of a part in the store.
pub(crate) fn name_of(tape: &str, part: &str) -> Result<String> {
    if part == TAPE { Ok(tape.to_owned()) } else { sidecar_name(tape, part) }
}

/// A commit with the batch of the chain, and the state after it.
pub(crate) struct Chained {
    pub(crate) commit: Commit,
    pub(crate) after: State,
}

/// Adds the record of a commit to it. `reads`: the ends of the parts are read, and what other programs have appended is
/// found; else the chain is taken at its word, and the store rejects the commit where that is wrong.
pub(crate) async fn chained(
    store: &dyn Store,
    tape: &str,
    mut commit: Commit,
    state: &State,
    reads: bool,
) -> Result<Chained> {
    let is_reset = commit.batches.iter().any(|batch| batch.tape == tape && batch.reset.is_some());
    let mut record = if is_reset { after_reset(store, tape, &commit, state).await? } else { state.next() };
    for batch in &mut commit.batches {
        let part = part_of(tape, &batch.tape).to_owned();
        let last = if is_reset {
            0
        } else if batch.reset.is_some() {
            record.cleared.push(part.clone());
            record.ends.remove(&part);
            0
        } else {
            let known = state.ends.get(&part).copied();
            let last = match known {
                Some(known) if !reads && batch.expect_last.is_none_or(|expected| expected == known) => known,
                _ => store.last_id(&batch.tape).await?,
            };
            if batch.expect_last.is_some_and(|expected| expected != last) {
                return Err(Error::Conflict { last });
            }
            catch_up(store, &batch.tape, &part, last, &mut record).await?;
            last
        };
        if batch.reset.is_none() && batch.expect_last.is_none() {
            batch.expect_last = Some(last);
        }
        if batch.drafts.is_empty() {
            continue;
        }
        let first = last + 1;
        let entries = (first..).zip(&batch.drafts).map(|(id, draft)| draft.clone().numbered(id));
        let sums: Vec<String> = entries.map(|entry| entry_digest(&entry)).collect();
        record.ends.insert(part.clone(), last + sums.len() as u64);
        record.wrote.push(Span { part, first, sums });
    }
    let expect_last = (!is_reset).then_some(state.seq);
    with_record(tape, commit, record, expect_last)
}

/// A commit of a record alone.
pub(crate) fn alone(tape: &str, record: Record, state: &State) -> Result<Chained> {
    with_record(tape, Commit::default(), record, Some(state.seq))
}

fn with_record(tape: &str, mut commit: Commit, record: Record, expect_last: Option<u64>) -> Result<Chained> {
    let after = State {
        chain: record.chain.clone(),
        seq: record.seq,
        hash: String::new(),
        ends: record.ends.clone(),
        is_broken: false,
    };
    let (draft, hash) = record.seal()?;
    // The last one, so that it is easily taken from the answer.
    commit.batches.push(Batch { tape: sidecar_name(tape, CHAIN)?, reset: None, drafts: vec![draft], expect_last });
    Ok(Chained { commit, after: State { hash, ..after } })
}

/// Adds to the record what other programs have done to a part since the last one: `last` is its last id now.
pub(crate) async fn catch_up(store: &dyn Store, name: &str, part: &str, last: u64, record: &mut Record) -> Result<()> {
    let known = record.ends.get(part).copied().unwrap_or(0);
    if last < known {
        record.lost.push(Range { part: part.to_owned(), from: last, to: known });
    } else if last > known {
        let entries = store.read(name, known, MAX_FOUND + 1).await?;
        if entries.len() > MAX_FOUND {
            record.skipped.push(Range { part: part.to_owned(), from: known, to: last });
        } else {
            record.found.extend(spans(part, entries.iter().filter(|entry| entry.id <= last)));
        }
    }
    if last != known {
        record.ends.insert(part.to_owned(), last);
    }
    Ok(())
}

/// The digests of entries, in runs of consecutive ids.
pub(crate) fn spans<'e>(part: &str, entries: impl IntoIterator<Item = &'e Entry>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for entry in entries {
        let sum = entry_digest(entry);
        match spans.last_mut() {
            Some(span) if span.first + span.sums.len() as u64 == entry.id => span.sums.push(sum),
            _ => spans.push(Span { part: part.to_owned(), first: entry.id, sums: vec![sum] }),
        }
    }
    spans
}

/// The first record of the chain that follows a reset.
async fn after_reset(store: &dyn Store, tape: &str, commit: &Commit, state: &State) -> Result<Record> {
    let reset = commit.batches.iter().find(|batch| batch.tape == tape).and_then(|batch| batch.reset.clone());
    let mut past = past(store, tape).await?;
    past.extend(state.head());
    let surplus = past.len().saturating_sub(MAX_PAST);
    past.drain(..surplus);
    let mark = ResetMark { archive: reset.and_then(|reset| reset.archive), past };
    Ok(Record { reset: Some(mark), ..State::new().next() })
}

/// The chains before the one of that tape.
async fn past(store: &dyn Store, tape: &str) -> Result<Vec<PastChain>> {
    let first = store.read(&sidecar_name(tape, CHAIN)?, 0, 1).await?;
    let first = first.first().and_then(Sealed::parse);
    Ok(first.and_then(|first| first.record.reset).map_or_else(Vec::new, |reset| reset.past))
}

/// The mark of a copy.
pub(crate) async fn fork_mark(store: &dyn Store, from: String, through: Option<u64>) -> Result<ForkMark> {
    let head = State::read(store, family(&from)).await?.head();
    Ok(ForkMark { from, through, head })
}

/// What follows the answer of a store: the ids of the caller's own batches.
pub(crate) fn own_outcome(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Stored(mut first) => {
            first.pop();
            Outcome::Stored(first)
        }
        Outcome::Already => Outcome::Already,
    }
}

/// The parts of a tape: itself and its sidecars, the chain's own left out.
pub(crate) async fn parts(store: &dyn Store, tape: &str) -> Result<Vec<String>> {
    let mut parts = vec![TAPE.to_owned()];
    let sidecars = store.sidecars(tape).await?;
    parts.extend(sidecars.iter().map(|name| part_of(tape, name).to_owned()).filter(|part| part != CHAIN));
    Ok(parts)
}
