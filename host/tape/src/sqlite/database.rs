//! The connections to a database, and their threads.

use parking_lot::Mutex;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::Semaphore;

use super::super::Durability;
use super::super::error::{Error, Result};
use super::super::name::check_tape_name;
use super::super::network::network_file_system;
use super::super::revision::Revision;
use super::super::transaction::ErasingTransaction;
use super::fault::{self, failed};
use super::read::{self, TapeReader};
use super::schema;
use super::write::WriteTransaction;

/// Maximum concurrent readers. More would wait for the same disk.
const READERS: usize = 4;

/// Size of the header of every database, in bytes.
const HEADER: u64 = 100;

pub(super) struct Database {
    readers: Arc<Readers>,
    /// An async mutex: writers wait without blocking a thread.
    writer: Arc<tokio::sync::Mutex<Connection>>,
    /// Device and inode of the file that was opened.
    inode: (u64, u64),
}

/// Idle connections.
struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Database {
    pub(super) fn open(path: PathBuf, durability: Durability, shared_fs: bool) -> Result<Self> {
        let failed = |source| Error::Io { action: schema::action(&path), source };
        // Also keeps SQLite from reading a relative path as a URI.
        let absolute = std::path::absolute(&path).map_err(failed)?;
        let dir = absolute.parent().unwrap_or(Path::new("/"));
        if !dir.is_dir() {
            let text = format!("there is no directory `{}`", dir.display());
            return Err(failed(io::Error::new(ErrorKind::NotFound, text)));
        }
        if !shared_fs && let Some(kind) = network_file_system(dir).map_err(failed)? {
            return Err(Error::invalid(format!(
                "`{}` lies on a network file system ({kind}), where SQLite loses data: name a path on a local disk, or \
                 set `shared_fs = true` when no other machine uses it",
                path.display()
            )));
        }
        touch(&absolute).map_err(failed)?;
        let writer = schema::writer(&absolute, durability)?;
        let inode = inode(&absolute).map_err(failed)?;
        let readers = Readers { path: absolute, idle: Mutex::default(), places: Arc::new(Semaphore::new(READERS)) };
        Ok(Self { readers: Arc::new(readers), writer: Arc::new(tokio::sync::Mutex::new(writer)), inode })
    }

    pub(super) fn path(&self) -> &Path {
        &self.readers.path
    }

    /// Runs a write transaction, rolled back if `act` fails. Continues if the caller is cancelled.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        action: String,
        act: impl FnOnce(&mut dyn ErasingTransaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut writer = Arc::clone(&self.writer).lock_owned().await;
        let (path, inode) = (self.readers.path.clone(), self.inode);
        blocking(move || {
            is_still(&path, inode).map_err(|source| Error::Io { action: action.clone(), source })?;
            let failed = failed(&action);
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
            let done = act(&mut WriteTransaction { connection: &transaction, failed: &failed })?;
            transaction.commit().map_err(&failed)?;
            Ok(done)
        })
        .await
    }

    /// Truncates the write-ahead log, which may contain deleted data.
    pub(super) async fn empty_log(&self) -> Result<()> {
        let writer = Arc::clone(&self.writer).lock_owned().await;
        blocking(move || {
            let empty = || writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
            empty().map_err(failed("empty the log of the database of tapes"))
        })
        .await
    }

    /// Reads from a snapshot of the database.
    pub(super) async fn peek<T: Send + 'static>(
        &self,
        action: String,
        act: impl FnOnce(&mut dyn ErasingTransaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read(action, move |connection, failed| act(&mut WriteTransaction { connection, failed })).await
    }

    /// Copies the database to a new file, without the pages that it does not use.
    pub(super) async fn copy_to(&self, path: &Path) -> Result<()> {
        let (readers, to) = (Arc::clone(&self.readers), path.to_string_lossy().into_owned());
        let action = format!("copy the database to `{}`", path.display());
        blocking(move || {
            let failed = failed(&action);
            let connection = readers.take().map_err(&failed)?;
            // Within a transaction the statement is refused; it reads one snapshot by itself.
            let copied = connection.execute("VACUUM INTO ?1", [to]).map(drop).map_err(&failed);
            readers.put_back(connection);
            copied
        })
        .await
    }

    /// Reads from a snapshot of a tape. A missing tape is empty.
    pub(super) async fn look<T: Default + Send + 'static>(
        &self,
        tape: &str,
        act: impl FnOnce(&TapeReader<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let action = format!("read tape `{tape}`");
        let tape = tape.to_owned();
        self.read(action, move |connection, failed| match read::number(connection, &tape).map_err(failed)? {
            Some(number) => act(&TapeReader { connection, number }).map_err(failed),
            // The name of an archive may be longer than that of a tape.
            None => check_tape_name(&tape).map(|()| T::default()),
        })
        .await
    }

    pub(super) async fn names(&self, after: String, max: usize) -> Result<Vec<String>> {
        let action = format!("list the tapes in `{}`", self.path().display());
        self.read(action, move |connection, failed| read::names(connection, &after, max).map_err(failed)).await
    }

    pub(super) async fn archives(&self, after: String, max: usize) -> Result<Vec<String>> {
        let action = format!("list the tapes in `{}`", self.path().display());
        self.read(action, move |connection, failed| read::archives(connection, &after, max).map_err(failed)).await
    }

    pub(super) async fn revisions(&self, tapes: Vec<String>) -> Result<Vec<Option<Revision>>> {
        let action = format!("read the tapes in `{}`", self.path().display());
        let of = |connection: &Connection, tape: &str| match read::number(connection, tape)? {
            Some(number) => read::revision(&TapeReader { connection, number }),
            None => Ok(Some(Revision::of(()))),
        };
        let all = move |connection: &Connection, failed: &dyn Fn(rusqlite::Error) -> Error| {
            tapes.iter().map(|tape| of(connection, tape).map_err(failed)).collect()
        };
        self.read(action, all).await
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        action: String,
        act: impl FnOnce(&Connection, &dyn Fn(rusqlite::Error) -> Error) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = Arc::clone(&self.readers.places).acquire_owned().await;
        let readers = Arc::clone(&self.readers);
        blocking(move || {
            let _place = place;
            let failed = failed(&action);
            let connection = readers.take().map_err(&failed)?;
            // All reads of a call see the same snapshot.
            let seen = connection.unchecked_transaction().map_err(&failed)?;
            let found = act(&seen, &failed);
            seen.finish().map_err(&failed)?;
            readers.put_back(connection);
            found
        })
        .await
    }
}

impl Readers {
    fn take(&self) -> rusqlite::Result<Connection> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| schema::reader(&self.path), Ok)
    }

    fn put_back(&self, connection: Connection) {
        self.idle.lock().push(connection);
    }
}

/// Runs on a blocking thread.
async fn blocking<T: Send + 'static>(act: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(act).await.unwrap_or_else(|error| {
        Err(Error::Io { action: "use the database of tapes".to_owned(), source: io::Error::other(error) })
    })
}

/// Creates the file with mode 600 if it is missing; SQLite gives its log the same mode.
fn touch(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        // SQLite treats a file of one byte as empty, and would overwrite it.
        Ok(found) if found.is_file() && (1..HEADER).contains(&found.len()) => {
            Err(io::Error::new(ErrorKind::InvalidData, fault::NO_DATABASE))
        }
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(io::Error::other("it is not a file")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
        }
        Err(error) => Err(error),
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Detects a removed file, to which writes would be lost.
fn is_still(path: &Path, opened: (u64, u64)) -> io::Result<()> {
    match inode(path) {
        Ok(found) if found == opened => Ok(()),
        _ => Err(io::Error::new(ErrorKind::NotFound, "the database was moved or removed while it was in use")),
    }
}
