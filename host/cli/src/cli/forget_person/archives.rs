//! What a reset has put aside: archives in the store of tapes, or in files beside them, and the trash.

use crate::cli::tape::{StoreArchives, TapeLocation};
use anyhow::{Context, Result};
use bub_tape::{Entry, digest_of, erase_traces};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The archives of a home.
pub(super) struct Archives {
    /// The directory of the tapes, if they are files.
    dir: Option<PathBuf>,
    of_store: StoreArchives,
}

impl Archives {
    pub(super) async fn open(location: &TapeLocation) -> Result<Self> {
        Ok(Self { dir: location.directory(), of_store: StoreArchives::open(location).await? })
    }

    /// The tapes that have any. The tape itself may be gone.
    pub(super) fn tapes(&self) -> BTreeSet<String> {
        let in_files = self.dir.iter().flat_map(|dir| files(dir)).map(|(tape, _)| tape);
        self.of_store.tapes().cloned().chain(in_files).collect()
    }

    /// The entries of each archive of a tape.
    pub(super) async fn of(&self, tape: &str) -> Result<Vec<Vec<Entry>>> {
        let in_files = self.dir.iter().flat_map(|dir| files(dir)).filter(|(of, _)| of == tape);
        let in_files = in_files.map(|(_, file)| read(&file));
        Ok(in_files.chain(self.of_store.of(tape).await?.into_iter().map(|(_, entries)| entries)).collect())
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
        self.of_store.erase(tape, &is_wanted, false).await?;
        Ok(())
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
