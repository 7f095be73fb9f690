//! Finds plugin files, checks that they are complete, and reads them.

use super::digest::digest;
use super::embedded::is_embedded;
use super::loaded::Source;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_types::text::one_line;
use bub_types::text::plain;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The largest component file that is read, in bytes. A Python guest has 18 MB.
pub const MAX_FILE: u64 = 64 << 20;

/// Files of one directory that are loaded, in order of their names. Each is read and hashed at every start.
const MAX_FILES: usize = 64;

/// A file that was written to less long ago may still be written to.
pub(super) const SETTLE_TIME: Duration = Duration::from_millis(100);

/// How long to wait for a truncated file, which may still be copied, before it is reported.
const COPY_TIMEOUT: Duration = Duration::from_secs(10);

/// The first bytes of every WebAssembly file, and how long they are with the version behind them.
const MAGIC: &[u8] = b"\0asm";
const HEADER: usize = 8;

/// A file of one of the directories of plugins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PluginFile {
    pub(super) source: Source,
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// The file's metadata. Equal fingerprints mean equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    device: u64,
    node: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileFingerprint {
    pub(super) fn read(path: &Path) -> Option<Self> {
        Some(Self::from(&std::fs::metadata(path).ok()?))
    }
}

impl From<&Metadata> for FileFingerprint {
    fn from(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            node: meta.ino(),
            bytes: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// The user's plugin directory.
pub fn user_dir(config: &Config) -> PathBuf {
    config.home.join(bub_config::PLUGINS_DIR)
}

/// The workspace's plugin directory. None if it is the user's: a workspace may be the home.
pub fn workspace_dir(config: &Config, workspace: &Path) -> Option<PathBuf> {
    let dir = workspace.join(bub_config::WORKSPACE_DIR).join(bub_config::PLUGINS_DIR);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    (real(&dir) != real(&user_dir(config))).then_some(dir)
}

/// The files of both directories, the user's first, each by name, less those that are switched off.
pub(super) fn files(config: &Config, workspace: &Path) -> Vec<PluginFile> {
    let mut files = list(&user_dir(config), Source::User);
    // Under an embedded guest's name `enabled = false` switches off the embedded one; a file may take its place.
    files.retain(|file| config.plugin(&file.name).enabled || is_embedded(&file.name));
    if let Some(dir) = workspace_dir(config, workspace) {
        files.extend(list(&dir, Source::Workspace));
    }
    files
}

fn list(dir: &Path, source: Source) -> Vec<PluginFile> {
    let paths = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut files: Vec<PluginFile> = paths.map(|path| PluginFile { source, name: name(&path), path }).collect();
    files.sort();
    if files.len() > MAX_FILES {
        tracing::warn!("`{}` has {} plugins; the first {MAX_FILES} by name are looked at", dir.display(), files.len());
        files.truncate(MAX_FILES);
    }
    files
}

/// The outcome of reading a file.
pub(super) enum ReadOutcome {
    /// The complete bytes, and the file's fingerprint.
    Whole(Vec<u8>, FileFingerprint),
    /// The file is still being written.
    Unfinished,
}

/// The bytes of a component file. They are read once: what is hashed is what is compiled. With `waits` a file that
/// may still be being written is left for later.
///
/// # Errors
///
/// It cannot be read, is no file, or is too large.
pub(super) fn read_component(path: &Path, waits: bool) -> Result<ReadOutcome> {
    // A pipe under that name would wait for its writer for ever.
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(nonblock).open(path);
    let mut file = opened.map_err(|error| unread(path, &error))?;
    let meta = file.metadata().context("it cannot be looked at")?;
    if !meta.is_file() {
        bail!("`{}` is no file", path.display());
    }
    if meta.len() > MAX_FILE {
        bail!("it is larger than {} MiB", MAX_FILE >> 20);
    }
    let age = age(&meta);
    if waits && age < SETTLE_TIME {
        return Ok(ReadOutcome::Unfinished);
    }
    let bytes = read(&mut file, meta.len())?;
    let is_same =
        FileFingerprint::from(&file.metadata().context("it cannot be looked at")?) == FileFingerprint::from(&meta);
    if waits && (!is_same || (age < COPY_TIMEOUT && is_cut_off(&bytes))) {
        return Ok(ReadOutcome::Unfinished);
    }
    Ok(ReadOutcome::Whole(bytes, FileFingerprint::from(&meta)))
}

/// Why a file cannot be opened, and where it leads if it is a link.
fn unread(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let target = std::fs::read_link(path).map(|target| one_line(&target.to_string_lossy()));
    match (target, error.kind()) {
        (Ok(target), ErrorKind::NotFound) => {
            anyhow::anyhow!("it is a link to `{target}`, which is not there: mend the link, or remove it")
        }
        (Ok(target), _) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            anyhow::anyhow!("it is a link to `{target}`, which leads back to itself: mend the link, or remove it")
        }
        _ => anyhow::anyhow!("it cannot be read: {}", plain(&error.to_string())),
    }
}

/// SHA-256 of a component file, in hex.
///
/// # Errors
///
/// The file is missing, cannot be read, is no component file, or is being written to.
pub fn digest_of(path: &Path) -> Result<String> {
    bytes_of(path).map(|bytes| digest(&bytes))
}

/// The bytes of a component file, as they are now.
///
/// # Errors
///
/// The file is missing, cannot be read, is no component file, or is being written to.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    match read_component(path, false)? {
        ReadOutcome::Whole(bytes, _) => Ok(bytes),
        ReadOutcome::Unfinished => bail!("it is being written to"),
    }
}

/// The whole file. `length` is its size, unless it is being written.
fn read(file: &mut File, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length)? + 1);
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        bail!("it is larger than {} MiB", MAX_FILE >> 20);
    }
    Ok(bytes)
}

/// How long ago it was written to. A file from the future is old: its clock says nothing of now.
fn age(meta: &Metadata) -> Duration {
    let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    SystemTime::now().duration_since(modified).unwrap_or(COPY_TIMEOUT)
}

/// Whether the bytes end before their last section does. Files grow from the front when they are copied.
fn is_cut_off(bytes: &[u8]) -> bool {
    let Some(mut rest) = bytes.get(HEADER..) else { return true };
    if !bytes.starts_with(MAGIC) {
        return false;
    }
    // Only the outermost sections: what is inside of them is there when their end is.
    while let Some((_, section)) = rest.split_first() {
        let Some((length, content)) = number(section) else { return true };
        match content.get(length..) {
            Some(behind) => rest = behind,
            None => return true,
        }
    }
    false
}

/// A number in LEB128, and the bytes behind it; none when the bytes end first.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}
