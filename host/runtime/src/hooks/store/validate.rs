//! Validates the answers of a plugin that keeps tapes before the host uses them.

use super::from_entry;
use crate::guest::bindings::entries::Entry;
use crate::guest::bindings::tape_exports::store::{Outcome, Page};
use crate::guest::bindings::tape_exports::store_query::{Candidates, Condition};
use crate::plugin::contract;
use bub_tape::{Lookup, check_tape_name, json};
use bub_types::Error;
use wasmtime::Result;

/// The answer of the plugin, or its own error, which is not validated.
type Answered<T> = std::result::Result<T, Error>;

/// Entries with ids greater than `after` and less than `before`, growing, at most `max`.
pub(super) fn page(page: &Answered<Page>, max: u32, after: u64, before: Option<u64>) -> Result<()> {
    let Ok(page) = page else { return Ok(()) };
    if page.entries.len() > max as usize {
        return Err(contract(format!("{max} entries were asked for, and {} came", page.entries.len())));
    }
    if page.more && page.entries.is_empty() {
        return Err(contract("no entries came, and there are more"));
    }
    let mut last = after;
    for entry in &page.entries {
        if entry.id <= last {
            return Err(contract(format!("entry {} came behind {last}", entry.id)));
        }
        last = entry.id;
        validate(entry)?;
    }
    match before {
        Some(before) if last >= before && !page.entries.is_empty() => {
            Err(contract(format!("entry {last} came, and those before {before} were asked for")))
        }
        _ => Ok(()),
    }
}

/// Entries between the bounds, each once and in the order that was asked for, at most `max`; and a place to go on that leaves
/// less to look at. The caller checks whether they match.
pub(super) fn candidates(
    found: &Answered<Option<Candidates>>,
    condition: &Condition,
    newest_first: bool,
    max: u32,
) -> Result<()> {
    let Ok(Some(found)) = found else { return Ok(()) };
    if found.entries.len() > max as usize {
        return Err(contract(format!("{max} entries were asked for, and {} came", found.entries.len())));
    }
    // From where on entries are to come.
    let mut last = if newest_first { condition.before } else { Some(condition.after) };
    let is_next = |id: u64, last: Option<u64>| match newest_first {
        true => id > condition.after && last.is_none_or(|last| id < last),
        false => last.is_none_or(|last| id > last) && condition.before.is_none_or(|before| id < before),
    };
    for entry in &found.entries {
        if !is_next(entry.id, last) {
            return Err(contract(format!("entry {} came out of order, or beyond what was asked for", entry.id)));
        }
        last = Some(entry.id);
        validate(entry)?;
    }
    match found.next {
        Some(next) if !is_next(next, last) && found.entries.last().is_none_or(|entry| entry.id != next) => {
            Err(contract(format!("it would go on behind entry {next}, which is not where it is")))
        }
        _ => Ok(()),
    }
}

/// An entry that stands on no line of a tape could not be exported, and one that is no JSON would be rendered for a
/// model.
fn validate(entry: &Entry) -> Result<()> {
    for (what, text) in [("payload", &entry.payload), ("meta", &entry.meta)] {
        if json::fields(text).is_err() {
            return Err(contract(format!("the {what} of entry {} is no JSON object", entry.id)));
        }
        if text.contains('\n') {
            return Err(contract(format!("the {what} of entry {} spans lines", entry.id)));
        }
    }
    Ok(())
}

pub(super) fn newest(found: &Answered<Option<Entry>>, lookup: &Lookup, before: Option<u64>) -> Result<()> {
    let Ok(Some(entry)) = found else { return Ok(()) };
    validate(entry)?;
    if entry.id == 0 || before.is_some_and(|before| entry.id >= before) {
        return Err(contract(format!("entry {} is not among those that were asked for", entry.id)));
    }
    match lookup.matches(&from_entry(entry.clone())) {
        true => Ok(()),
        false => Err(contract(format!("entry {} is not what was sought", entry.id))),
    }
}

pub(super) fn written(written: &Answered<Outcome>, batches: usize) -> Result<()> {
    match written {
        Ok(Outcome::Conflict(lasts)) if lasts.len() != batches => {
            Err(contract(format!("it named {} last ids for {batches} batches", lasts.len())))
        }
        _ => Ok(()),
    }
}

/// Names of tapes behind `after`, growing, at most `max`.
pub(super) fn tapes(names: &Answered<Vec<String>>, after: Option<&str>, max: u32) -> Result<()> {
    self::names(names, after, max, bub_tape::is_listed)
}

/// The same of the sidecars of a tape.
pub(super) fn sidecars(names: &Answered<Vec<String>>, tape: &str, after: Option<&str>, max: u32) -> Result<()> {
    let prefix = format!("{tape}__sidecar__");
    self::names(names, after, max, |name| name.len() > prefix.len() && name.starts_with(&prefix))
}

fn names(names: &Answered<Vec<String>>, after: Option<&str>, max: u32, is_one: impl Fn(&str) -> bool) -> Result<()> {
    let Ok(names) = names else { return Ok(()) };
    if names.len() > max as usize {
        return Err(contract(format!("{max} names were asked for, and {} came", names.len())));
    }
    let mut last = after;
    for name in names {
        if check_tape_name(name).is_err() || !is_one(name) {
            return Err(contract("what it listed is no such tape"));
        }
        if last.is_some_and(|last| name.as_str() <= last) {
            return Err(contract(format!("the name `{name}` came out of order")));
        }
        last = Some(name);
    }
    Ok(())
}

/// A name that begins like the tape's and leaves no directory.
pub(super) fn archive(name: &Answered<Option<String>>, tape: &str) -> Result<()> {
    let Ok(Some(name)) = name else { return Ok(()) };
    let good = check_tape_name(name).is_ok() && name.strip_prefix(tape).is_some_and(|rest| rest.starts_with(".jsonl."));
    if good { Ok(()) } else { Err(contract(format!("what it named cannot be an archive of `{tape}`"))) }
}
