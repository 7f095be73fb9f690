//! Writing a backup.

use crate::content;
use crate::manifest::{
    FORMAT, FORMAT_FILE, File, HOME, MANIFEST_FILE, Manifest, Measured, OUTSIDE_DATABASE, SECRETS_FILE, StoredTapes,
};
use crate::seal;
use anyhow::{Context, Result, ensure};
use bub_system::files::Draft;
use bub_tape::{FileStore, SqliteStore};
use bub_types::text::one_line;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// The tapes of a home.
pub enum TapeStore {
    /// In files of the home.
    Files(FileStore),
    /// In a SQLite database.
    Sqlite(SqliteStore),
    /// In a server, which has backups of its own.
    Server,
}

/// A home that is used meanwhile.
pub struct Home<'a> {
    /// Its directory.
    pub path: &'a Path,
    /// Its tapes.
    pub tapes: TapeStore,
}

type Archive = Builder<GzEncoder<Draft>>;

/// Writes a backup to the file `to`, which appears when it is whole. `passphrase`: with the secrets, under it.
///
/// # Errors
///
/// The file exists, or something cannot be read or written. Nothing is left then.
pub async fn create(home: &Home<'_>, to: &Path, passphrase: Option<&str>) -> Result<Manifest> {
    let shown = one_line(&to.display().to_string());
    ensure!(!to.exists(), "`{shown}` exists: name a file that does not");
    let wrong = || format!("the backup cannot be written to `{shown}`");
    let draft = Draft::new(to, 0o600).with_context(wrong)?;
    let mut writer = Writer { archive: Builder::new(GzEncoder::new(draft, Compression::fast())), files: Vec::new() };
    writer.raw(FORMAT_FILE, format!("{FORMAT}\n").as_bytes()).with_context(wrong)?;
    for path in content::plain(home.path)? {
        if let Some(content) = content::read(home.path, &path)? {
            writer.add(&format!("{HOME}{path}"), content.len() as u64, Cursor::new(content)).with_context(wrong)?;
        }
    }
    let tapes = writer.tapes(home).await?;
    if let Some(passphrase) = passphrase {
        let secrets = serde_json::to_vec(&content::secrets(home.path)?)?;
        let sealed = seal::seal(&secrets, passphrase)?;
        writer.add(SECRETS_FILE, sealed.len() as u64, Cursor::new(sealed)).with_context(wrong)?;
    }
    let manifest = Manifest {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        created: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        tapes,
        has_secrets: passphrase.is_some(),
        files: std::mem::take(&mut writer.files),
    };
    writer.raw(MANIFEST_FILE, &serde_json::to_vec_pretty(&manifest)?).with_context(wrong)?;
    let draft = writer.archive.into_inner().and_then(GzEncoder::finish).with_context(wrong)?;
    draft.publish_durably().with_context(wrong)?;
    Ok(manifest)
}

/// An archive that is being written.
struct Writer {
    archive: Archive,
    files: Vec<File>,
}

impl Writer {
    async fn tapes(&mut self, home: &Home<'_>) -> Result<StoredTapes> {
        match &home.tapes {
            TapeStore::Files(store) => {
                for tape in store.families()? {
                    for file in store.snapshot(&tape).await? {
                        let path = format!("{HOME}tapes/{}", file.name);
                        self.add(&path, file.length, file.content).with_context(|| format!("tape `{tape}`"))?;
                    }
                }
                Ok(StoredTapes::Files)
            }
            TapeStore::Sqlite(store) => {
                let path = store.path();
                let directory = path.parent().unwrap_or(Path::new("."));
                // Beside the database, where there is room for it.
                let copy = tempfile::Builder::new().prefix(".bub-backup").tempdir_in(directory);
                let copy = copy.with_context(|| format!("`{}` cannot be written to", directory.display()))?;
                let database = copy.path().join(OUTSIDE_DATABASE);
                store.snapshot(&database).await?;
                let within = path.strip_prefix(home.path).ok().and_then(Path::to_str);
                let file = fs::File::open(&database)?;
                let length = file.metadata()?.len();
                match within {
                    Some(within) => self.add(&format!("{HOME}{within}"), length, file)?,
                    None => self.add(OUTSIDE_DATABASE, length, file)?,
                }
                Ok(match within {
                    Some(_) => StoredTapes::Database,
                    None => StoredTapes::DatabaseOutside(path.display().to_string()),
                })
            }
            TapeStore::Server => Ok(StoredTapes::Server),
        }
    }

    /// Adds a file of that length, and lists it.
    fn add(&mut self, path: &str, length: u64, content: impl Read) -> Result<()> {
        let mut measured = Measured::new(content);
        self.archive.append_data(&mut header(length), path, &mut measured)?;
        let file = measured.into_file(path);
        ensure!(file.bytes == length, "`{}` became shorter while it was read: try again", one_line(path));
        self.files.push(file);
        Ok(())
    }

    /// Adds a file that is not listed.
    fn raw(&mut self, path: &str, content: &[u8]) -> Result<()> {
        Ok(self.archive.append_data(&mut header(content.len() as u64), path, content)?)
    }
}

fn header(length: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_size(length);
    header
}
