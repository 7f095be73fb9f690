//! Commits for stores with transactions: the rules of [`Commit`], whatever keeps the tapes.
//!
//! A store whose transactions answer at once implements [`StoreTransaction`] on them. One behind a network reads what a
//! commit depends on, lets [`commit`] decide over that snapshot, and then sends the changes.

use super::draft::Draft;
use super::entry::Entry;
use super::erase::Erasure;
use super::error::{Error, Result};
use super::name::{self, archive_beside};
use super::store::{Commit, Outcome, next_id};

/// A transaction on tapes and archives: isolated until its end. If a function fails, the caller of [`commit`] rolls
/// back.
pub trait StoreTransaction {
    /// Whether there is a tape or an archive of that name.
    ///
    /// # Errors
    ///
    /// The store's.
    fn holds(&mut self, name: &str) -> Result<bool>;

    /// Whether it is an archive.
    ///
    /// # Errors
    ///
    /// The store's.
    fn is_archive(&mut self, name: &str) -> Result<bool>;

    /// 0 without entries.
    ///
    /// # Errors
    ///
    /// The store's.
    fn last_id(&mut self, name: &str) -> Result<u64>;

    /// Sidecars of a tape, in order.
    ///
    /// # Errors
    ///
    /// The store's.
    fn sidecars(&mut self, tape: &str) -> Result<Vec<String>>;

    /// Turns a tape into an archive under a free name.
    ///
    /// # Errors
    ///
    /// The store's.
    fn archive(&mut self, tape: &str, archive: &str) -> Result<()>;

    /// Removes a tape, if there is one.
    ///
    /// # Errors
    ///
    /// The store's.
    fn remove(&mut self, tape: &str) -> Result<()>;

    /// Appends entries; creates a tape or an archive if there is none.
    ///
    /// # Errors
    ///
    /// The store's.
    fn add(&mut self, name: &str, archive: bool, entries: Vec<Entry>) -> Result<()>;

    /// The key of the last write to a tape or its sidecars that had one.
    ///
    /// # Errors
    ///
    /// The store's.
    fn merged(&mut self, tape: &str) -> Result<Option<String>>;

    /// Replaces that key.
    ///
    /// # Errors
    ///
    /// The store's.
    fn remember(&mut self, tape: &str, key: &str) -> Result<()>;
}

/// A transaction that can erase, too.
pub(super) trait ErasingTransaction: StoreTransaction {
    /// Erases entries and appends the receipt. Returns their number.
    fn erase(&mut self, tape: &str, erasure: &Erasure) -> Result<u64>;
}

/// Implements [`Store::commit`](super::Store::commit). All input is validated before anything changes.
///
/// # Errors
///
/// Those of `Store::commit`, and the transaction's.
pub fn commit(transaction: &mut dyn StoreTransaction, commit: Commit) -> Result<Outcome> {
    let Some(tape) = commit.tape()?.map(str::to_owned) else {
        return Ok(Outcome::Stored(Vec::new()));
    };
    if commit.key.is_some() && transaction.merged(&tape)? == commit.key {
        return Ok(Outcome::Already);
    }
    let all_reset = commit.batches.iter().any(|batch| batch.tape == tape && batch.reset.is_some());
    let mut first = Vec::with_capacity(commit.batches.len());
    for batch in &commit.batches {
        if transaction.is_archive(&batch.tape)? {
            return Err(Error::invalid(format!("`{}` is an archive and cannot be written", batch.tape)));
        }
        let kept = transaction.last_id(&batch.tape)?;
        let last = if all_reset || batch.reset.is_some() { 0 } else { kept };
        if batch.expect_last.is_some_and(|expected| expected != last) {
            return Err(Error::Conflict { last });
        }
        first.push(next_id(last, batch.drafts.len())?);
        if let Some(reset) = &batch.reset {
            let good = |archive: &String| archive.starts_with(&batch.tape) && !archive.contains('/');
            if let Some(archive) = reset.archive.as_ref().filter(|archive| !good(archive)) {
                return Err(Error::invalid(format!("`{archive}` cannot name an archive of `{}`", batch.tape)));
            }
            next_id(kept, reset.kept.len())?;
            reset.kept.iter().try_for_each(Draft::check_length)?;
        }
        batch.drafts.iter().try_for_each(Draft::check_length)?;
    }
    let mut additions = Vec::new();
    for batch in &commit.batches {
        let Some(reset) = &batch.reset else { continue };
        let mut archive = reset.archive.clone();
        if batch.tape == tape {
            // Sidecars use the number of their tape's archive.
            archive = archive.map(|archive| free_name(transaction, &archive)).transpose()?;
            for sidecar in transaction.sidecars(&tape)? {
                let archive = archive.as_ref().map(|archive| archive_beside(archive, &tape, &sidecar));
                clear_tape(transaction, &sidecar, archive.as_deref())?;
            }
        }
        let archive = clear_tape(transaction, &batch.tape, archive.as_deref())?.or(archive);
        if let Some(archive) = archive.filter(|_| !reset.kept.is_empty()) {
            additions.push((archive, reset.kept.clone()));
        }
    }
    for (archive, kept) in additions {
        let id = next_id(transaction.last_id(&archive)?, kept.len())?;
        transaction.add(&archive, true, numbered(id, kept))?;
    }
    for (batch, id) in commit.batches.into_iter().zip(&first) {
        if !batch.drafts.is_empty() {
            transaction.add(&batch.tape, false, numbered(*id, batch.drafts))?;
        }
    }
    if let Some(key) = &commit.key {
        transaction.remember(&tape, key)?;
    }
    Ok(Outcome::Stored(first))
}

/// The name for an archive of the tape made now; `None` if the tape does not exist.
///
/// # Errors
///
/// The transaction's.
pub fn archive_name(transaction: &mut dyn StoreTransaction, tape: &str) -> Result<Option<String>> {
    if !transaction.holds(tape)? || transaction.is_archive(tape)? {
        return Ok(None);
    }
    free_name(transaction, &name::archive_name(tape)).map(Some)
}

/// Returns the archive's name, if one was made.
fn clear_tape(transaction: &mut dyn StoreTransaction, tape: &str, archive: Option<&str>) -> Result<Option<String>> {
    if !transaction.holds(tape)? {
        return Ok(None);
    }
    let Some(archive) = archive else {
        transaction.remove(tape)?;
        return Ok(None);
    };
    let archive = free_name(transaction, archive)?;
    transaction.archive(tape, &archive)?;
    Ok(Some(archive))
}

fn free_name(transaction: &mut dyn StoreTransaction, archive: &str) -> Result<String> {
    name::free(archive, |archive| transaction.holds(archive))
}

fn numbered(first: u64, drafts: Vec<Draft>) -> Vec<Entry> {
    (first..).zip(drafts).map(|(id, draft)| draft.numbered(id)).collect()
}
