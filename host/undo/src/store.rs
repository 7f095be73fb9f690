//! The snapshots and records of one workspace, in a directory of the user.

use super::Limits;
use super::difference::{Difference, difference};
use super::directory;
use super::listing::{self, Listing};
use super::node::{Kind, Node};
use super::objects::Objects;
use super::path::WorkspacePath;
use super::record::{Change, Label, Origin, Record, changes};
use super::restore::{self, Step};
use anyhow::{Context, Result, anyhow};
use bub_system::files::{Draft, make_private_dir};
use jiff::{SignedDuration, Timestamp};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The folder below `$BUB_HOME`.
pub(crate) const DIR: &str = "undo";

/// The largest record or listing that is read, in bytes.
const MAX_FILE: u64 = 1 << 30;

/// The largest content that a difference is made of, in bytes.
const MAX_CONTENT: u64 = 1 << 20;

/// The snapshots and records of one workspace.
pub struct Undo {
    dir: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
    limits: Limits,
    objects: Objects,
}

/// A workspace as it was when a turn was about to change it. It is locked for as long as the turn runs, so that other
/// processes leave it alone.
pub struct Snapshot {
    number: u64,
    label: Label,
    begun: Timestamp,
    listing: Listing,
    /// Holds the lock.
    _file: File,
}

impl Undo {
    /// The snapshots of a workspace below `home`, which is `$BUB_HOME`. Both paths are absolute and without links.
    pub fn new(home: &Path, workspace: &Path, limits: Limits) -> Self {
        let digest = <sha2::Sha256 as sha2::Digest>::digest(workspace.as_os_str().as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let dir = home.join(DIR).join(name);
        let (home, workspace) = (home.to_owned(), workspace.to_owned());
        Self { objects: Objects::new(dir.join("objects")), dir, home, workspace, limits }
    }

    /// Keeps the workspace as it is now. This reads the disk, and may take as long as [`Limits::max_time`] and longer.
    ///
    /// # Errors
    ///
    /// The workspace has too many files, or the snapshot cannot be written.
    pub fn begin(&self, label: Label) -> Result<Snapshot> {
        let _lock = self.lock()?;
        self.recover()?;
        self.take(label)
    }

    fn take(&self, label: Label) -> Result<Snapshot> {
        let begun = Timestamp::now();
        let mut listing = listing::list(&self.workspace, &self.home, &self.limits)?;
        self.objects.keep(&self.workspace, &mut listing, &self.limits)?;
        let number = self.numbers("open-").into_iter().chain(self.numbers("turn-")).max().unwrap_or(0) + 1;
        let path = self.open_path(number);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let mut writer = std::io::BufWriter::new(&file);
        serde_json::to_writer(&mut writer, &(&label, begun, listing.iter().collect::<Vec<_>>()))?;
        writer.flush()?;
        drop(writer);
        Ok(Snapshot { number, label, begun, listing, _file: file })
    }

    /// Compares the workspace with a snapshot, and records what is different; `None`: nothing is.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    pub fn finish(&self, snapshot: Snapshot) -> Result<Option<Record>> {
        let _lock = self.lock()?;
        let now = listing::list(&self.workspace, &self.home, &self.limits);
        let record = now.and_then(|now| Ok((self.record_changes(&snapshot, &now, false)?, now)));
        // The next process must not take the snapshot for one of a turn that was cut off.
        let _gone = fs::remove_file(self.open_path(snapshot.number));
        drop(snapshot);
        let (record, now) = record?;
        self.collect_garbage(&now);
        Ok(record)
    }

    fn record_changes(&self, snapshot: &Snapshot, now: &Listing, is_interrupted: bool) -> Result<Option<Record>> {
        let mut changes = changes(&self.workspace, &snapshot.listing, now);
        changes.retain(|change| !self.is_rewritten(change));
        if changes.is_empty() {
            return Ok(None);
        }
        let record = Record {
            number: snapshot.number,
            label: snapshot.label.clone(),
            begun: snapshot.begun,
            ended: Timestamp::now(),
            is_interrupted,
            ignores_changed: changes.iter().any(|change| change.path.is_ignore_file()),
            undone_by: None,
            changes,
        };
        self.write(&record)?;
        Ok(Some(record))
    }

    /// Whether a file was written with the content that it had.
    fn is_rewritten(&self, change: &Change) -> bool {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
        if (&before.kind, &after.kind) != (&Kind::File, &Kind::File)
            || (before.size, before.mode) != (after.size, after.mode)
            || !before.is_kept
        {
            return false;
        }
        let contents = (self.content(&change.path, before, u64::MAX), self.current(&change.path, u64::MAX));
        matches!(contents, (Some(before), Some(after)) if before == after)
    }

    /// The records, the newest first. One that is damaged is left out.
    pub fn records(&self) -> Vec<Record> {
        let mut numbers = self.numbers("turn-");
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        numbers.into_iter().filter_map(|number| self.record(number).ok()).collect()
    }

    /// The record with that number.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    pub fn record(&self, number: u64) -> Result<Record> {
        let path = self.record_path(number);
        let text = read(&path).with_context(|| format!("there is no turn `{number}` to undo"))?;
        serde_json::from_slice(&text).map_err(|_| anyhow!("`{}` is damaged", path.display()))
    }

    /// Records what turns have changed whose process has ended before they did.
    ///
    /// # Errors
    ///
    /// The directory cannot be written.
    pub fn recover_interrupted(&self) -> Result<()> {
        if !self.dir.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.recover()
    }

    fn recover(&self) -> Result<()> {
        for number in self.numbers("open-") {
            let path = self.open_path(number);
            let Ok(file) = File::open(&path) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let parsed = read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
            if let Some((label, begun, listing)) = parsed {
                let listing: Vec<(WorkspacePath, Node)> = listing;
                let listing = listing.into_iter().collect();
                let now = listing::list(&self.workspace, &self.home, &self.limits)?;
                self.record_changes(&Snapshot { number, label, begun, listing, _file: file }, &now, true)?;
            }
            let _gone = fs::remove_file(path);
        }
        Ok(())
    }

    /// What an undo of the record would do. `force`: files that have changed again since are put back too.
    pub fn plan(&self, record: &Record, force: bool) -> Vec<Step> {
        restore::plan(&self.workspace, record, force)
    }

    /// Puts the changes of a record back. What it changes is a record of its own, so that it can be undone.
    ///
    /// # Errors
    ///
    /// The state before the undo cannot be kept: nothing was changed then.
    pub fn undo(&self, record: &Record, force: bool) -> Result<(Vec<Step>, Option<Record>)> {
        let _lock = self.lock()?;
        self.recover()?;
        let label = Label { origin: Origin::UndoOf(record.number), session: record.label.session.clone() };
        let snapshot = self.take(label)?;
        let mut steps = self.plan(record, force);
        restore::apply(&self.workspace, &self.objects, record, &mut steps);
        let now = listing::list(&self.workspace, &self.home, &self.limits)?;
        let undone = self.record_changes(&snapshot, &now, false)?;
        let _gone = fs::remove_file(self.open_path(snapshot.number));
        if let Some(undone) = &undone {
            self.write(&Record { undone_by: Some(undone.number), ..record.clone() })?;
        }
        Ok((steps, undone))
    }

    /// The difference that a change has made. `None`: the file has changed again since, or its content is not kept.
    pub fn difference(&self, change: &Change) -> Option<Difference> {
        let is_file = |node: &Option<Node>| node.as_ref().is_none_or(|node| node.kind == Kind::File);
        let now = listing::look(&self.workspace.join(change.path.as_path()));
        let is_current = match (&now, &change.after) {
            (Some(now), Some(after)) => now.is_same(after),
            (now, after) => now.is_none() && after.is_none(),
        };
        if !is_current || !is_file(&change.before) || !is_file(&change.after) {
            return None;
        }
        let before = match &change.before {
            Some(before) if before.size > MAX_CONTENT => return Some(Difference::Binary),
            Some(before) => Some(self.content(&change.path, before, MAX_CONTENT)?),
            None => None,
        };
        let after = match &change.after {
            Some(after) if after.size > MAX_CONTENT => return Some(Difference::Binary),
            Some(_) => Some(self.current(&change.path, MAX_CONTENT)?),
            None => None,
        };
        Some(difference(before.as_deref(), after.as_deref()))
    }

    /// SHA-256 of the content of a file before and after a change, in hex. `None`: there was no such file, it is larger than
    /// what is kept, or its content is not there any more.
    pub fn digests(&self, change: &Change) -> [Option<String>; 2] {
        let max = self.limits.max_file;
        let hash = |content: Option<Vec<u8>>| {
            content.map(|content| Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
        };
        let is_file = |node: &&Node| node.kind == Kind::File && node.size <= max;
        let before = change.before.as_ref().filter(is_file);
        let after = change.after.as_ref().filter(is_file);
        [
            hash(before.and_then(|before| self.content(&change.path, before, max))),
            hash(after.and_then(|_| self.current(&change.path, max))),
        ]
    }

    /// The kept content of a file.
    fn content(&self, path: &WorkspacePath, node: &Node, max: u64) -> Option<Vec<u8>> {
        read_at_most(File::open(self.objects.path(&node.key(path))).ok()?, max)
    }

    /// The content of a file of the workspace.
    fn current(&self, path: &WorkspacePath, max: u64) -> Option<Vec<u8>> {
        read_at_most(directory::open_file(&self.workspace, path).ok()?, max)
    }

    /// Removes records that are too old or too large together, and copies that no record needs. Copies that the next snapshot
    /// would need as well are kept.
    fn collect_garbage(&self, now: &Listing) {
        // Another turn is about to need copies that no record names yet.
        let is_held = |number: &u64| {
            let Ok(file) = File::open(self.open_path(*number)) else { return false };
            flock(&file, FlockOperation::NonBlockingLockShared).is_err()
        };
        if self.numbers("open-").iter().any(is_held) {
            return;
        }
        let mut used: HashSet<String> = now.iter().map(|(path, node)| node.key(path)).collect();
        let age = SignedDuration::try_from(self.limits.max_age).unwrap_or(SignedDuration::MAX);
        // Room for the copies that the next snapshot makes, unless they alone would fill the directory.
        let next: u64 = now.values().map(|node| node.size).filter(|size| *size <= self.limits.max_file).sum();
        let mut size = next.min(self.limits.max_bytes / 4 * 3);
        for record in self.records() {
            let mut keys: HashSet<String> =
                record.changes.iter().filter_map(|change| Some(change.before.as_ref()?.key(&change.path))).collect();
            keys.retain(|key| !used.contains(key));
            let more = self.objects.size(&keys);
            let is_old = Timestamp::now().duration_since(record.ended) > age;
            if is_old || size.saturating_add(more) > self.limits.max_bytes {
                let _gone = fs::remove_file(self.record_path(record.number));
                continue;
            }
            size += more;
            used.extend(keys);
        }
        self.objects.retain(&used);
    }

    /// Waits until no other process takes a snapshot of the workspace or puts one back.
    fn lock(&self) -> Result<File> {
        let failed = || format!("`{}` cannot be written", self.dir.display());
        make_private_dir(&self.dir).with_context(failed)?;
        let path = self.dir.join("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.with_context(failed)?;
        flock(&file, FlockOperation::LockExclusive).with_context(failed)?;
        Ok(file)
    }

    /// The numbers of the files whose names begin so.
    fn numbers(&self, prefix: &str) -> Vec<u64> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let number = |name: String| name.strip_prefix(prefix)?.split('.').next()?.parse().ok();
        files.filter_map(|file| number(file.file_name().into_string().ok()?)).collect()
    }

    fn open_path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("open-{number}.json"))
    }

    fn record_path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("turn-{number}.json"))
    }

    fn write(&self, record: &Record) -> Result<()> {
        let path = self.record_path(record.number);
        let mut draft = Draft::new(&path, 0o600)?;
        draft.write_all(&serde_json::to_vec(record)?)?;
        draft.publish().with_context(|| format!("`{}` cannot be written", path.display()))
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_FILE).read_to_end(&mut text)?;
    Ok(text)
}

/// `None`: it is longer.
fn read_at_most(file: File, max: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= max).then_some(content)
}
