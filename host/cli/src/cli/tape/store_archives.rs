//! Archives that a store of tapes keeps itself, as databases do. Those beside files are files.

use super::tape_location::TapeLocation;
use anyhow::Result;
use bub_tape::transfer::Holding;
use bub_tape::{Entry, Erasure, Store};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names, and entries, that are read at once.
const PAGE: usize = 256;

/// The archives of a store, by their tapes.
pub(in crate::cli) struct StoreArchives {
    store: Option<Arc<dyn Store>>,
    by_tape: BTreeMap<String, Vec<String>>,
}

impl StoreArchives {
    pub(in crate::cli) async fn open(location: &TapeLocation) -> Result<Self> {
        let store = location.tapes().map(|tapes| Arc::clone(tapes.store()));
        let mut by_tape: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut last: Option<String> = None;
        while let Some(store) = &store {
            let names = store.archives(last.as_deref(), PAGE).await?;
            let Some(end) = names.last() else { break };
            last = Some(end.clone());
            for name in names {
                let holding = Holding { name, is_archive: true };
                by_tape.entry(holding.family().to_owned()).or_default().push(holding.name);
            }
        }
        Ok(Self { store, by_tape })
    }

    /// The tapes that have any.
    pub(in crate::cli) fn tapes(&self) -> impl Iterator<Item = &String> {
        self.by_tape.keys()
    }

    /// The entries of each archive of a tape, with the archive's name.
    pub(in crate::cli) async fn of(&self, tape: &str) -> Result<Vec<(&str, Vec<Entry>)>> {
        let mut all = Vec::new();
        for archive in self.by_tape.get(tape).into_iter().flatten() {
            let mut entries: Vec<Entry> = Vec::new();
            while let Some(store) = &self.store {
                let page = store.read(archive, entries.last().map_or(0, |last| last.id), PAGE).await?;
                if page.is_empty() {
                    break;
                }
                entries.extend(page);
            }
            all.push((archive.as_str(), entries));
        }
        Ok(all)
    }

    /// Erases entries from all archives of a tape. Returns the archives that have such entries, with their number; `dry`
    /// changes nothing.
    pub(in crate::cli) async fn erase(
        &self,
        tape: &str,
        is_wanted: &(dyn Fn(&Entry) -> bool + Sync),
        dry: bool,
    ) -> Result<Vec<(String, u64)>> {
        let mut erased = Vec::new();
        for (archive, entries) in self.of(tape).await? {
            let wanted: Vec<Entry> = entries.into_iter().filter(|entry| is_wanted(entry)).collect();
            let Some(store) = self.store.as_ref().filter(|_| !wanted.is_empty()) else { continue };
            erased.push((archive.to_owned(), wanted.len() as u64));
            if !dry {
                store.erase(archive, Erasure::new(&wanted)).await?;
            }
        }
        Ok(erased)
    }
}
