//! Erasure of entries from a tape's file: the rest is copied to a new file, byte for byte, which then replaces the old
//! one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::entry::Entry;
use super::super::erase::{Erasure, Verdict};
use super::super::error::{Error, Result};
use super::super::failpoint;
use super::super::ids::Ids;
use super::super::name::{check_tape_name, family};
use super::directory::{Directory, TRASH, failed};
use super::end::{self, End, Tail};
use super::scan::Forward;

/// Suffix of a file that will replace another. An old one is garbage.
pub(super) const DRAFT: &str = ".erase";

/// Size of a copied block, in bytes.
const BLOCK: usize = 1 << 20;

/// Ranges of a file to remove, with their replacements.
#[derive(Default)]
struct Cuts {
    cuts: Vec<(u64, u64, Option<String>)>,
    last: u64,
}

impl Directory {
    /// Under the lock of the tape's family, whose file is `lock`.
    pub(super) fn erase(&self, tape: &str, lock: &File, erasure: &Erasure) -> Result<u64> {
        let action = || failed("erase entries of", tape);
        check_tape_name(tape)?;
        // Recover an interrupted write first: its record has offsets in the file.
        self.recover(family(tape), lock).map_err(action())?;
        let path = self.path(tape, "");
        let Some((file, mut length)) = self.opened.read(tape, &path).map_err(action())? else { return Ok(0) };
        if let Tail::Torn(start) = End::read(&file, length).map_err(action())?.tail {
            end::set_aside(&file, start, &self.path(tape, ".torn")).map_err(action())?;
            length = start;
        }
        let cuts = cuts(&file, length, erasure).map_err(action())?;
        let Some(cuts) = cuts else {
            let message = format!(
                "the ids on tape `{tape}` do not increase, so erasing an entry would renumber others: copy the tape with `bub-wasm tape fork`, and erase the entry in the copy"
            );
            return Err(Error::invalid(message));
        };
        if cuts.cuts.is_empty() {
            return Ok(0);
        }
        let receipt = match erasure.receipt() {
            Some(receipt) => {
                let ends = length == 0 || ends_line(&file, length).map_err(action())?;
                let newline = if ends { "" } else { "\n" };
                format!("{newline}{}\n", receipt.line(cuts.last + 1)?)
            }
            None => String::new(),
        };
        rewrite(&file, &path, length, &cuts.cuts, &receipt).map_err(action())?;
        // Offsets and ends of the old file are invalid now.
        self.opened.forget(tape);
        self.indexes.forget(tape);
        File::open(self.dir()).and_then(|dir| dir.sync_all()).map_err(action())?;
        failpoint::point("erase.end");
        Ok(cuts.cuts.len() as u64)
    }
}

/// The ranges that an erasure removes from a file; `None` if a remaining entry would get another id.
fn cuts(file: &File, length: u64, erasure: &Erasure) -> io::Result<Option<Cuts>> {
    let (mut before, mut after) = (Ids::default(), Ids::default());
    let mut cuts = Cuts::default();
    let mut lines = Forward::new(file, 0, length);
    while let Some(line) = lines.next()? {
        let Some(entry) = line.entry() else { continue };
        let written = entry.id;
        let entry = Entry { id: before.next(written), ..entry };
        cuts.last = entry.id;
        let blank = match erasure.verdict(&entry) {
            Verdict::Goes => None,
            verdict => {
                if after.next(written) != entry.id {
                    return Ok(None);
                }
                match verdict {
                    Verdict::Blanked(blank) => Some(Entry { id: written, ..blank }.line() + "\n"),
                    _ => continue,
                }
            }
        };
        cuts.cuts.push((line.start, lines.at, blank));
    }
    Ok(Some(cuts))
}

fn ends_line(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}

/// Writes the first `length` bytes of a file without the cuts, followed by `behind`, to a new file, and renames it to
/// the old name.
fn rewrite(file: &File, path: &Path, length: u64, cuts: &[(u64, u64, Option<String>)], behind: &str) -> io::Result<()> {
    let draft = PathBuf::from(format!("{}{DRAFT}", path.display()));
    let written = || -> io::Result<()> {
        let _old = fs::remove_file(&draft);
        let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        new.set_permissions(fs::Permissions::from_mode(file.metadata()?.permissions().mode() & 0o7777))?;
        failpoint::point("erase.begun");
        let mut at = 0;
        for (start, end, blank) in cuts {
            copy(file, &mut new, at, *start)?;
            new.write_all(blank.as_deref().unwrap_or_default().as_bytes())?;
            at = *end;
        }
        copy(file, &mut new, at, length)?;
        new.write_all(behind.as_bytes())?;
        failpoint::point("erase.written");
        // The content must be durable before the name.
        new.sync_all()?;
        fs::rename(&draft, path)
    };
    let written = written();
    if written.is_err() {
        let _removed = fs::remove_file(&draft);
    }
    written?;
    failpoint::point("erase.renamed");
    Ok(())
}

fn copy(from: &File, to: &mut File, start: u64, end: u64) -> io::Result<()> {
    let mut part = vec![0; BLOCK];
    let mut at = start;
    while at < end {
        let size = usize::try_from(end - at).unwrap_or(BLOCK).min(BLOCK);
        let part = part.get_mut(..size).unwrap_or_default();
        from.read_exact_at(part, at)?;
        to.write_all(part)?;
        at += size as u64;
    }
    Ok(())
}

/// Other files of a tape that contained erased entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Archives that were rewritten, with the number of entries erased from each: files, or names in a store.
    pub archives: Vec<(PathBuf, u64)>,
    /// Files of the trash that were removed.
    pub trash: Vec<PathBuf>,
    /// Files that still contain them, because their format is unknown.
    pub left: Vec<PathBuf>,
}

/// Erases traces of erased entries from archives, trash and attachments. `wanted` selects entries, and `in_text` finds
/// traces in files without entries; `dry` changes nothing.
///
/// # Errors
///
/// The directory cannot be listed, or an archive cannot be written.
pub fn erase_traces(
    dir: &Path,
    tape: &str,
    wanted: &dyn Fn(&Entry) -> bool,
    in_text: &dyn Fn(&str) -> bool,
    dry: bool,
) -> io::Result<Traces> {
    let mut traces = Traces::default();
    for found in fs::read_dir(dir)?.flatten() {
        let Ok(name) = found.file_name().into_string() else { continue };
        let Some((stem, rest)) = name.split_once(".jsonl.") else { continue };
        if family(stem) != tape {
            continue;
        }
        let path = found.path();
        if rest.ends_with(".bak") {
            let file = File::open(&path)?;
            let length = file.metadata()?.len();
            let cuts = cuts_of(&file, length, wanted)?;
            if !cuts.is_empty() {
                if !dry {
                    rewrite(&file, &path, length, &cuts, "")?;
                }
                traces.archives.push((path, cuts.len() as u64));
            }
        } else if !rest.ends_with("lock") && fs::read(&path).is_ok_and(|text| in_text(&String::from_utf8_lossy(&text)))
        {
            traces.left.push(path);
        }
    }
    for found in fs::read_dir(dir.join(TRASH)).into_iter().flatten().flatten() {
        let name = found.file_name().into_string().unwrap_or_default();
        let is_of = name.split_once(".jsonl").is_some_and(|(stem, _)| family(stem) == tape);
        if is_of && let Ok(file) = File::open(found.path()) {
            let length = file.metadata()?.len();
            if !cuts_of(&file, length, wanted)?.is_empty() && (dry || fs::remove_file(found.path()).is_ok()) {
                traces.trash.push(found.path());
            }
        }
    }
    traces.archives.sort();
    traces.trash.sort();
    traces.left.sort();
    Ok(traces)
}

fn cuts_of(file: &File, length: u64, wanted: &dyn Fn(&Entry) -> bool) -> io::Result<Vec<(u64, u64, Option<String>)>> {
    let mut chosen = Vec::new();
    let mut lines = Forward::new(file, 0, length);
    while let Some(line) = lines.next()? {
        if line.entry().is_some_and(|entry| wanted(&entry)) {
            chosen.push((line.start, lines.at, None));
        }
    }
    Ok(chosen)
}

/// Removes all files from the trash of a directory of tapes, whatever their age; returns them with their sizes. `dry`
/// removes nothing.
///
/// # Errors
///
/// The trash cannot be listed.
pub fn empty_trash(dir: &Path, dry: bool) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut removed = Vec::new();
    let files = match fs::read_dir(dir.join(TRASH)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(removed),
        files => files?,
    };
    for found in files.flatten() {
        let Ok(about) = found.metadata() else { continue };
        if about.is_file() && (dry || fs::remove_file(found.path()).is_ok()) {
            removed.push((found.path(), about.len()));
        }
    }
    removed.sort();
    Ok(removed)
}
