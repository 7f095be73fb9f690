//! What a reset has put aside: archives in the store of tapes, or in files beside them, and the trash.

use crate::cli::tape::TapeLocation;
use anyhow::{Context, Result};
use bub_tape::transfer::Holding;
use bub_tape::{Entry, Erasure, Store, digest_of, erase_traces};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names, and entries, that are read at once.
const PAGE: usize = 256;

/// The archives of a home.
pub(super) struct Archives {
    /// The directory of the tapes, if they are files.
    dir: Option<PathBuf>,
    store: Option<Arc<dyn Store>>,
    /// Archives of the store, by their tapes.
    of_store: BTreeMap<String, Vec<String>>,
}

impl Archives {
    pub(super) async fn open(location: &TapeLocation) -> Result<Self> {
        let store = location.tapes().map(|tapes| Arc::clone(tapes.store()));
        let mut of_store: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut last: Option<String> = None;
        while let Some(store) = &store {
            let names = store.archives(last.as_deref(), PAGE).await?;
            let Some(end) = names.last() else { break };
            last = Some(end.clone());
            for name in names {
                let holding = Holding { name, is_archive: true };
                of_store.entry(holding.family().to_owned()).or_default().push(holding.name);
            }
        }
        Ok(Self { dir: location.directory(), store, of_store })
    }

    /// The tapes that have any. The tape itself may be gone.
    pub(super) fn tapes(&self) -> BTreeSet<String> {
        let in_files = self.dir.iter().flat_map(|dir| files(dir)).map(|(tape, _)| tape);
        self.of_store.keys().cloned().chain(in_files).collect()
    }

    /// The entries of each archive of a tape.
    pub(super) async fn of(&self, tape: &str) -> Result<Vec<Vec<Entry>>> {
        let in_files = self.dir.iter().flat_map(|dir| files(dir)).filter(|(of, _)| of == tape);
        let mut all: Vec<Vec<Entry>> = in_files.map(|(_, file)| read(&file)).collect();
        for archive in self.of_store.get(tape).into_iter().flatten() {
            all.push(self.stored(archive).await?);
        }
        Ok(all)
    }

    /// Erases entries, by their digests, from all archives of a tape.
    pub(super) async fn erase(&self, tape: &str, entries: &BTreeMap<String, Entry>) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let is_wanted = |entry: &Entry| entries.contains_key(&digest_of(entry));
        if let Some(dir) = &self.dir {
            let erased = erase_traces(dir, tape, &is_wanted, &|_| false, false);
            erased.with_context(|| format!("what lies beside tape `{tape}` cannot be changed"))?;
        }
        for archive in self.of_store.get(tape).into_iter().flatten() {
            let erasure = Erasure::new(self.stored(archive).await?.iter().filter(|entry| is_wanted(entry)));
            if let Some(store) = self.store.as_ref().filter(|_| !erasure.is_empty()) {
                store.erase(archive, erasure).await?;
            }
        }
        Ok(())
    }

    /// The entries of an archive of the store.
    async fn stored(&self, archive: &str) -> Result<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        while let Some(store) = &self.store {
            let page = store.read(archive, entries.last().map_or(0, |last| last.id), PAGE).await?;
            if page.is_empty() {
                break;
            }
            entries.extend(page);
        }
        Ok(entries)
    }
}

/// The archives and the files of the trash in a directory of tapes, each with its tape.
fn files(dir: &Path) -> Vec<(String, PathBuf)> {
    let folders = [dir.to_owned(), dir.join("trash")];
    let files = folders.iter().flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten());
    let one = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_in_trash = path.parent().is_some_and(|parent| parent.ends_with("trash"));
        let (stem, rest) = name.split_once(".jsonl")?;
        let is_one = rest.ends_with(".bak") || (is_in_trash && !rest.ends_with("lock"));
        is_one.then(|| (bub_tape::family(stem).to_owned(), path))
    };
    files.filter_map(|file| one(file.path())).collect()
}

/// The entries of such a file.
fn read(path: &Path) -> Vec<Entry> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| Entry::parse(&String::from_utf8_lossy(&line))).collect()
}
