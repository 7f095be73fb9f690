//! The copy of one store in another, and their comparison.
//!
//! A copy never changes an entry of its target: it appends what the target lacks. So it can be interrupted at any point
//! and repeated. Before the first write it checks that what the target has already is the beginning of what it is to have.

use std::fmt;

use super::super::entry::Entry;
use super::super::error::{Error, Result};
use super::cursor::Cursor;
use super::{Holding, Transfer};

/// Names that are requested at once.
const NAMES: usize = 1000;

/// The current step of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compares what the target has already.
    Checking,
    /// Writes what it lacks.
    Copying,
    /// Compares everything.
    Verifying,
}

/// Called with the step and the number of entries that it has seen.
pub type Progress<'a> = &'a mut (dyn FnMut(Step, u64) + Send);

/// The totals of a copy or a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tapes with entries.
    pub tapes: u64,
    /// Sidecars with entries.
    pub sidecars: u64,
    /// Archives with entries.
    pub archives: u64,
    /// Entries that were written, or compared.
    pub entries: u64,
}

impl Totals {
    fn count(&mut self, holding: &Holding) {
        match (holding.is_archive, holding.is_tape()) {
            (true, _) => self.archives += 1,
            (false, true) => self.tapes += 1,
            (false, false) => self.sidecars += 1,
        }
    }
}

/// How two stores differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The tape, sidecar or archive.
    pub name: String,
    /// The description of the difference.
    pub text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.name, self.text)
    }
}

/// Copies what `to` lacks of `from`: entries with their ids and dates, and keys of commits. Names that only `to` has are left
/// alone. Names without an entry are not copied.
///
/// # Errors
///
/// [`Error::InvalidInput`] if `to` has other entries under a name, before anything is written, or cannot hold a name or an
/// id; errors of either store. Entries that were written until then stay, and the next copy goes on after it.
pub async fn copy(from: &dyn Transfer, to: &dyn Transfer, progress: Progress<'_>) -> Result<Totals> {
    let mut seen = 0;
    let mut names = Names::new(from);
    while let Some(holding) = names.next().await? {
        check(from, to, &holding, &mut |entries| {
            seen += entries;
            progress(Step::Checking, seen);
        })
        .await?;
    }
    let mut totals = Totals::default();
    let mut names = Names::new(from);
    while let Some(holding) = names.next().await? {
        let mut after = to.last_of(&holding).await?;
        let mut has_entries = after > 0;
        loop {
            let page = from.page(&holding, after).await?;
            let Some(last) = page.last().map(|last| last.id) else { break };
            has_entries = true;
            totals.entries += page.len() as u64;
            to.add(&holding, after, page).await?;
            after = last;
            progress(Step::Copying, totals.entries);
        }
        if has_entries {
            totals.count(&holding);
        }
        if !holding.is_archive {
            let family = holding.family();
            if let Some(key) = from.key(family).await?
                && to.key(family).await?.as_ref() != Some(&key)
            {
                to.set_key(family, &key).await?;
            }
        }
        to.copied(&holding).await?;
    }
    Ok(totals)
}

/// Compares every entry of `from` with `to`. Names that only `to` has are left alone.
///
/// # Errors
///
/// Those of either store.
pub async fn compare(
    from: &dyn Transfer,
    to: &dyn Transfer,
    progress: Progress<'_>,
) -> Result<std::result::Result<Totals, Difference>> {
    let mut totals = Totals::default();
    let mut names = Names::new(from);
    while let Some(holding) = names.next().await? {
        let (mut here, mut there) = (Cursor::new(from, &holding), Cursor::new(to, &holding));
        let mut has_entries = false;
        loop {
            let (expected, found) = (here.next().await?, there.next().await?);
            if expected.is_none() && found.is_none() {
                break;
            }
            if let Some(text) = difference(expected.as_ref(), found.as_ref()) {
                return Ok(Err(Difference { name: holding.name, text }));
            }
            has_entries = true;
            totals.entries += 1;
            progress(Step::Verifying, totals.entries);
        }
        if has_entries {
            totals.count(&holding);
        }
        if !holding.is_archive {
            let expected = from.key(holding.family()).await?;
            if expected.is_some() && expected != to.key(holding.family()).await? {
                let text = "the key of its last commit differs".to_owned();
                return Ok(Err(Difference { name: holding.name, text }));
            }
        }
    }
    Ok(Ok(totals))
}

/// Checks that what `to` has under the name is the beginning of what `from` has.
async fn check(
    from: &dyn Transfer,
    to: &dyn Transfer,
    holding: &Holding,
    seen: &mut (dyn FnMut(u64) + Send),
) -> Result<()> {
    if to.last_of(holding).await? == 0 {
        return Ok(());
    }
    let (mut here, mut there) = (Cursor::new(from, holding), Cursor::new(to, holding));
    while let Some(found) = there.next().await? {
        if let Some(text) = difference(here.next().await?.as_ref(), Some(&found)) {
            let name = &holding.name;
            return Err(Error::invalid(format!(
                "the target has other entries under `{name}`: {text}; copy to a store that has nothing under this name"
            )));
        }
        seen(1);
    }
    Ok(())
}

/// How the entry of the target differs from that of the source, in words.
fn difference(expected: Option<&Entry>, found: Option<&Entry>) -> Option<String> {
    match (expected, found) {
        (Some(expected), Some(found)) if expected == found => None,
        (Some(expected), Some(found)) if expected.id == found.id => {
            let parts = [
                ("kind", &expected.kind, &found.kind),
                ("payload", &expected.payload, &found.payload),
                ("meta", &expected.meta, &found.meta),
                ("date", &expected.date, &found.date),
            ];
            let part = parts.iter().find(|(_, expected, found)| expected != found).map_or("id", |(part, ..)| *part);
            Some(format!("entry {} has another {part}", found.id))
        }
        (Some(expected), Some(found)) if expected.id < found.id => Some(format!("entry {} is missing", expected.id)),
        (_, Some(found)) => Some(format!("entry {} is not in the source", found.id)),
        (Some(expected), None) => Some(format!("entry {} is missing", expected.id)),
        (None, None) => None,
    }
}

/// The names of a store, page by page.
struct Names<'a> {
    store: &'a dyn Transfer,
    page: std::vec::IntoIter<Holding>,
    last: Option<String>,
}

impl<'a> Names<'a> {
    fn new(store: &'a dyn Transfer) -> Self {
        Self { store, page: Vec::new().into_iter(), last: None }
    }

    async fn next(&mut self) -> Result<Option<Holding>> {
        if self.page.as_slice().is_empty() {
            self.page = self.store.holdings(self.last.as_deref(), NAMES).await?.into_iter();
        }
        let next = self.page.next();
        if let Some(holding) = &next {
            self.last = Some(holding.name.clone());
        }
        Ok(next)
    }
}
