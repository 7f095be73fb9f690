//! How an index is made, over the archives of a folder.

use crate::archive::unpack;
use crate::index::{FORMAT, INDEX_FILE, MAX_ARCHIVE, MAX_INDEX};
use crate::{Archive, Index, NAME, Release, version};
use anyhow::{Context, Result, bail, ensure};
use bub_registry::{SecretKey, Signature};
use bub_system::files::{Draft, read_regular};
use bub_types::text::{escaped, hex, one_line};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, ErrorKind, Seek, Write};
use std::path::Path;

/// The processors that archives are made for: the beginnings of targets.
const PROCESSORS: [&str; 6] = ["x86_64-", "aarch64-", "riscv64gc-", "armv7-", "i686-", "powerpc64le-"];

/// The end of an archive's name.
const ENDING: &str = ".tar.gz";

/// What is said of an index.
#[derive(Debug, Clone, Copy, Default)]
pub struct Publication {
    /// The day of new releases; none: today, in UTC.
    pub date: Option<Date>,
    /// Days for which the index is good; none: for ever.
    pub valid_days: Option<u32>,
}

/// Writes an index over the archives of a folder, and its signature. Releases of an index that is there are kept, also
/// without their archives. Returns it, and how many archives are new.
///
/// # Errors
///
/// An archive is damaged, or is another one than the index has; the old index is not by this key; nothing can be written.
pub fn publish(folder: &Path, key: &SecretKey, publication: Publication) -> Result<(Index, usize)> {
    let now = Timestamp::from_second(Timestamp::now().as_second())?;
    let before = existing(folder, key)?;
    let created = before.as_ref().map_or(now, |before| now.max(before.created + 1.second()));
    let expires = publication.valid_days.map(|days| created + (i64::from(days) * 24).hours());
    let releases = before.map(|before| before.releases).unwrap_or_default();
    let mut index = Index { format: FORMAT, name: NAME.to_owned(), created, expires, releases };
    let date = publication.date.unwrap_or_else(|| now.to_zoned(TimeZone::UTC).date());
    let mut added = 0;
    for name in archives(folder)? {
        let archive = describe(folder, &name).with_context(|| format!("`{}`", escaped(&name, 200)))?;
        added += usize::from(index.add(archive, date)?);
    }
    ensure!(!index.releases.is_empty(), "`{}` has no archive `{NAME}-VERSION-TARGET{ENDING}`", shown(folder));
    index.releases.sort_by_key(Release::parsed);
    let mut text = serde_json::to_string_pretty(&index)?;
    text.push('\n');
    ensure!(text.len() as u64 <= MAX_INDEX, "the index is longer than {MAX_INDEX} bytes");
    // What readers refuse is not written.
    Index::parse(text.as_bytes())?;
    let signature = Signature::of_file(key, text.as_bytes(), INDEX_FILE)?;
    write(&folder.join(INDEX_FILE), text.as_bytes())?;
    write(&folder.join(format!("{INDEX_FILE}.minisig")), signature.as_str().as_bytes())?;
    Ok((index, added))
}

/// The index of the folder, if it has one.
fn existing(folder: &Path, key: &SecretKey) -> Result<Option<Index>> {
    let read = |name: &str| match read_regular(&folder.join(name), usize::try_from(MAX_INDEX)? + 1) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(anyhow::anyhow!("`{}` cannot be read: {error}", shown(&folder.join(name)))),
    };
    let Some(bytes) = read(INDEX_FILE)? else { return Ok(None) };
    let signature = read(&format!("{INDEX_FILE}.minisig"))?.unwrap_or_default();
    let signature = String::from_utf8(signature).unwrap_or_default();
    let verified = Signature::parse(&signature)
        .and_then(|signature| signature.verify_file(key.public(), &bytes, INDEX_FILE))
        .and_then(|()| Index::parse(&bytes));
    let why = || {
        format!(
            "the releases of `{}` are not taken over; remove it to begin a new index",
            shown(&folder.join(INDEX_FILE))
        )
    };
    Ok(Some(verified.with_context(why)?))
}

impl Index {
    /// Adds an archive. Returns whether it was missing.
    fn add(&mut self, (version, archive): (String, Archive), date: Date) -> Result<bool> {
        let release = match self.releases.iter_mut().position(|release| release.version == version) {
            Some(at) => &mut self.releases[at],
            None => {
                self.releases.push(Release { version: version.clone(), date, files: Vec::new() });
                self.releases.last_mut().context("it was pushed")?
            }
        };
        match release.files.iter().find(|known| known.target == archive.target) {
            Some(known) if *known == archive => Ok(false),
            Some(known) => bail!(
                "`{}` is another file than the one of version {version} in the index, whose digest is sha256:{}: a release \
                 never changes, so give it a new version",
                archive.file,
                known.sha256
            ),
            None => {
                release.files.push(archive);
                Ok(true)
            }
        }
    }
}

/// The names of the archives in the folder, in order.
fn archives(folder: &Path) -> Result<Vec<String>> {
    let wrong = || format!("`{}` cannot be listed", shown(folder));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(wrong)? {
        let name = entry.with_context(wrong)?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&format!("{NAME}-")) && name.ends_with(ENDING) {
            names.push(name.into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The version and the description of an archive, which must hold the program.
fn describe(folder: &Path, name: &str) -> Result<(String, Archive)> {
    let inner =
        name.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('-')).and_then(|rest| rest.strip_suffix(ENDING));
    // A version may have hyphens too.
    let parts = inner.and_then(|inner| {
        inner.match_indices('-').find_map(|(at, _)| {
            let (left, right) = (inner.get(..at)?, inner.get(at + 1..)?);
            let is_target = PROCESSORS.iter().any(|processor| right.starts_with(processor));
            (is_target && version(left).is_ok()).then(|| (left.to_owned(), right.to_owned()))
        })
    });
    let (version, target) = parts.context("its name is not `bub-wasm-VERSION-TARGET.tar.gz`")?;
    let (_, mut file) = read_regular(&folder.join(name), 0).context("it cannot be read")?;
    let size = file.metadata()?.len();
    ensure!(size <= MAX_ARCHIVE, "it is larger than {} MiB", MAX_ARCHIVE >> 20);
    let mut hashed = Hashing(Sha256::new());
    io::copy(&mut file, &mut hashed).context("it cannot be read")?;
    file.rewind()?;
    let mut length = Counting(0);
    unpack(&file, &version, &target, &mut length)?;
    ensure!(length.0 > 0, "the program in it is empty");
    let archive = Archive { file: name.to_owned(), target, size, sha256: hex(&hashed.0.finalize()) };
    archive.check()?;
    Ok((version, archive))
}

struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = Draft::new(path, 0o644).and_then(|mut draft| {
        draft.write_all(bytes)?;
        draft.publish_durably()
    });
    written.with_context(|| format!("`{}` cannot be written", shown(path)))
}

fn shown(path: &Path) -> String {
    one_line(&path.display().to_string())
}
