//! The whole content of a directory of tapes, archives included.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::super::Durability;
use super::super::draft::Draft;
use super::super::entry::Entry;
use super::super::error::{Error, Result};
use super::super::name::check_tape_name;
use super::super::store::Future;
use super::super::transfer::{Holding, PAGE, PAGE_BYTES, Transfer, check_order, size};
use super::FileStore;
use super::commit::{Addition, may_be_of};
use super::directory::{Directory, failed};
use super::end::Tail;
use super::index_cache::run_blocking;
use super::numbered::{self, EntriesForward, NumberedFile, has_irregular_ids};
use super::sparse_index::SparseIndex;

impl Transfer for FileStore {
    fn holdings<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<Holding>> {
        let (files, after) = (Arc::clone(&self.files), after.map(str::to_owned));
        Box::pin(run_blocking(move |_| {
            let all = files.holdings().map_err(|source| Error::Io {
                action: format!("list the tapes in `{}`", files.dir().display()),
                source,
            })?;
            let behind = all.into_iter().filter(|holding| after.as_ref().is_none_or(|after| holding.name > *after));
            Ok(behind.take(max).collect())
        }))
    }

    fn last_of<'a>(&'a self, holding: &'a Holding) -> Future<'a, u64> {
        let (files, holding) = (Arc::clone(&self.files), holding.clone());
        Box::pin(run_blocking(move |_| files.last_of(&holding)))
    }

    fn page<'a>(&'a self, holding: &'a Holding, after: u64) -> Future<'a, Vec<Entry>> {
        let (files, holding) = (Arc::clone(&self.files), holding.clone());
        Box::pin(run_blocking(move |_| match holding.is_archive {
            true => files.page_of_archive(&holding, after).map_err(failed("read", &holding.name)),
            false => files.reading(&holding.name, |_, of| bounded(of.forward(after)?)),
        }))
    }

    fn add<'a>(&'a self, holding: &'a Holding, after: u64, entries: Vec<Entry>) -> Future<'a, ()> {
        Box::pin(async move {
            check_name(holding)?;
            check_order(holding, after, &entries)?;
            let lock = self.lock("append to", holding.family()).await?;
            let (files, holding) = (Arc::clone(&self.files), holding.clone());
            run_blocking(move |_| files.add(&holding, lock.file(), after, entries)).await
        })
    }

    fn key<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            let slots = self.files.slots(tape).map_err(failed("read", tape))?;
            Ok(slots.and_then(|slots| slots.record().merged))
        })
    }

    fn set_key<'a>(&'a self, tape: &'a str, key: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            check_tape_name(tape)?;
            let lock = self.lock("append to", tape).await?;
            let set = || {
                let mut record = self.files.recover(tape, lock.file())?;
                record.merged = Some(key.to_owned());
                record.write(lock.file(), "transfer.key", self.files.durability == Durability::Fsync)
            };
            set().map_err(failed("append to", tape))
        })
    }
}

impl Directory {
    /// In order. A file that is neither a tape's nor an archive's is left out.
    fn holdings(&self) -> io::Result<Vec<Holding>> {
        let mut holdings = Vec::new();
        let listed = match fs::read_dir(self.dir()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(holdings),
            listed => listed?,
        };
        for found in listed {
            let file = found?.file_name();
            let Some(file) = file.to_str() else { continue };
            let holding = match file.strip_suffix(".jsonl") {
                Some(tape) => Holding { name: tape.to_owned(), is_archive: false },
                None => Holding { name: file.to_owned(), is_archive: true },
            };
            if check_name(&holding).is_ok() {
                holdings.push(holding);
            }
        }
        holdings.sort_unstable();
        Ok(holdings)
    }

    fn last_of(&self, holding: &Holding) -> Result<u64> {
        check_name(holding)?;
        if !holding.is_archive {
            return self.last(&holding.name);
        }
        let last = || match self.archive_file(holding)? {
            Some((file, length)) => numbered::end_of(&file, length).map(|end| end.last_id),
            None => Ok(0),
        };
        last().map_err(failed("read", &holding.name))
    }

    fn archive_file(&self, holding: &Holding) -> io::Result<Option<(File, u64)>> {
        match File::open(self.dir().join(&holding.name)) {
            Ok(file) => {
                let length = file.metadata()?.len();
                Ok(Some((file, length)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn page_of_archive(&self, holding: &Holding, after: u64) -> io::Result<Vec<Entry>> {
        let Some((file, end)) = self.archive_file(holding)? else { return Ok(Vec::new()) };
        let page = |points| bounded(NumberedFile { file: &file, end, points }.forward(after)?);
        match page(None) {
            // Numbered from its beginning, as the tape was.
            Err(error) if has_irregular_ids(&error) => page(Some(SparseIndex::default())),
            page => page,
        }
    }

    /// Under the lock of the family, whose file is `lock`: all entries are in the file, or none after a crash.
    fn add(&self, holding: &Holding, lock: &File, after: u64, entries: Vec<Entry>) -> Result<()> {
        let failed = || failed("append to", &holding.name);
        let mut record = self.recover(holding.family(), lock).map_err(failed())?;
        let last = self.last_of(holding)?;
        if last != after {
            return Err(Error::Conflict { last });
        }
        let Some(last) = entries.last().map(|last| last.id) else { return Ok(()) };
        let mut text = String::new();
        for entry in entries {
            let id = entry.id;
            text.push_str(&Draft::from(entry).line(id)?);
            text.push('\n');
        }
        let addition = match holding.is_archive {
            true => self.addition_to_archive(holding, text),
            false => self.addition(&holding.name, text, (last, &[])),
        };
        let addition = addition.map_err(failed())?;
        self.write(lock, &mut record, None, &[addition], &mut false).map_err(failed())
    }

    fn addition_to_archive(&self, holding: &Holding, mut text: String) -> io::Result<Addition<'static>> {
        let path = self.dir().join(&holding.name);
        let file = Arc::new(OpenOptions::new().read(true).append(true).create(true).open(path)?);
        let offset = file.metadata()?.len();
        if numbered::end_of(&file, offset)?.tail != Tail::Nothing {
            text.insert(0, '\n');
        }
        Ok(Addition { name: holding.name.clone(), file, offset, text, drafts: (0, &[]) })
    }
}

/// A page that is bounded in bytes.
fn bounded(mut entries: EntriesForward<'_>) -> io::Result<Vec<Entry>> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    while page.len() < PAGE
        && bytes < PAGE_BYTES
        && let Some((_, entry)) = entries.next()?
    {
        bytes += size(&entry);
        page.push(entry);
    }
    Ok(page)
}

/// Checks that the name can be a file's.
fn check_name(holding: &Holding) -> Result<()> {
    match holding.is_archive {
        true if may_be_of(&holding.name, holding.family()) && holding.name.ends_with(".bak") => Ok(()),
        true => {
            let name = &holding.name;
            Err(Error::invalid(format!("`{name}` cannot name an archive in files: these end with `.jsonl.DATE.bak`")))
        }
        false => check_tape_name(&holding.name),
    }
}
