//! Files of the home that hold words of a conversation, beside its tapes: what a broken plugin was called with, calls that
//! `plugin dev` listened to, lines that were typed, and half-written lines.

use super::quotes::Quotes;
use anyhow::{Context, Result};
use bub_system::files::Draft;
use bub_types::text::one_line;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest file that is looked into, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// What is done with a file.
pub(super) enum Leftover {
    /// It is removed; a folder with all that is in it.
    Removed(PathBuf),
    /// It is written again without these lines.
    Cut(PathBuf),
}

/// Finds them.
pub(super) fn find(home: &Path, quotes: &Quotes) -> Vec<Leftover> {
    let mut found = Vec::new();
    if quotes.is_empty() {
        return found;
    }
    for folder in children(&home.join("quarantine")).into_iter().filter(|path| path.is_dir()) {
        if children(&folder).iter().any(|file| text(file).is_some_and(|text| holds(&text, quotes))) {
            found.push(Leftover::Removed(folder));
        }
    }
    for file in ["history", "dev"].iter().flat_map(|folder| children(&home.join(folder))) {
        let is_cut = text(&file).is_some_and(|text| text.lines().any(|line| holds(line, quotes)));
        if is_cut {
            found.push(Leftover::Cut(file));
        }
    }
    for file in children(&home.join("tapes")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(text) = text(&file).filter(|_| name.ends_with(".torn") || name.ends_with(".md")) else { continue };
        if !text.lines().any(|line| holds(line, quotes)) {
            continue;
        }
        found.push(if name.ends_with(".torn") { Leftover::Removed(file) } else { Leftover::Cut(file) });
    }
    found
}

/// Removes and cuts.
pub(super) fn erase(found: &[Leftover], quotes: &Quotes) -> Result<()> {
    for leftover in found {
        let (Leftover::Removed(path) | Leftover::Cut(path)) = leftover;
        let wrong = || format!("`{}` cannot be changed", one_line(&path.display().to_string()));
        match leftover {
            Leftover::Removed(path) if path.is_dir() => fs::remove_dir_all(path).with_context(wrong)?,
            Leftover::Removed(path) => fs::remove_file(path).with_context(wrong)?,
            Leftover::Cut(path) => {
                let text = text(path).with_context(wrong)?;
                let mut draft = Draft::new(path, 0o600).with_context(wrong)?;
                for line in text.split_inclusive('\n').filter(|line| !holds(line, quotes)) {
                    draft.write_all(line.as_bytes()).with_context(wrong)?;
                }
                draft.publish_durably().with_context(wrong)?;
            }
        }
    }
    Ok(())
}

/// Whether a text, which may be JSON, holds their words.
fn holds(text: &str, quotes: &Quotes) -> bool {
    quotes.stand_in_text(text) || quotes.stand_in_json(text)
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|found| found.path()).collect();
    paths.sort();
    paths
}

/// The text of a plain file.
fn text(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok().filter(|about| about.is_file() && about.len() <= MAX_FILE);
    about?;
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}
