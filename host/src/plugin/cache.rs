//! Compiled code, kept between runs.
//!
//! A compiled component is native code: loading one that somebody else wrote is giving up the sandbox. So the folder
//! must be ours and closed to others, and a file counts only with the digest that was written with it.

use sha2::{Digest, Sha256};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use wasmtime::component::Component;
use wasmtime::{Engine, Result};

const DIGEST_BYTES: usize = 32;

/// Files that are kept; the ones that were made first go first.
const MAX_FILES: usize = 256;

/// A folder of compiled components.
pub(crate) struct Cache {
    dir: Option<PathBuf>,
}

impl Cache {
    /// Opens `dir`, and makes it where it is missing. A folder that others may write, or that is somebody else's, is
    /// not used: everything is then compiled anew, and a warning says why.
    pub(crate) fn open(dir: &Path) -> Self {
        match prepare(dir) {
            Ok(()) => Self { dir: Some(dir.to_owned()) },
            Err(reason) => {
                tracing::warn!("compiled code is not kept: `{}` {reason}", dir.display());
                Self { dir: None }
            }
        }
    }

    /// The component of these bytes, from the cache or compiled and put there.
    pub(crate) fn component(&self, engine: &Engine, bytes: &[u8], digest: &str) -> Result<Component> {
        let Some(dir) = &self.dir else {
            return Component::new(engine, bytes);
        };
        let path = dir.join(format!("{digest}-{:016x}.cwasm", compatibility(engine)));
        if let Some(code) = read(&path) {
            // SAFETY: the folder is ours and closed to others, and the digest beside the code says that it is what
            // this program wrote; wasmtime checks that it was made for this engine.
            #[allow(unsafe_code, reason = "deserialize is how compiled code is loaded; the checks stand above")]
            match unsafe { Component::deserialize(engine, &code[DIGEST_BYTES..]) } {
                Ok(component) => return Ok(component),
                Err(error) => tracing::debug!("`{}` does not fit: {error:#}", path.display()),
            }
        }
        let component = Component::new(engine, bytes)?;
        if let Err(error) = write(dir, &path, &component.serialize()?) {
            tracing::debug!("`{}` was not kept: {error}", path.display());
        }
        Ok(component)
    }
}

/// What an engine's compiled code must agree with.
fn compatibility(engine: &Engine) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

fn prepare(dir: &Path) -> std::result::Result<(), String> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| format!("cannot be made: {error}"))?;
    let meta = fs::symlink_metadata(dir).map_err(|error| error.to_string())?;
    if !meta.is_dir() {
        return Err("is no folder".into());
    }
    // /proc/self belongs to the user that this process runs as; std has no other word for it.
    let own = fs::metadata("/proc/self").map(|me| me.uid()).unwrap_or_else(|_| meta.uid());
    if meta.uid() != own {
        return Err("belongs to somebody else".into());
    }
    if meta.mode() & 0o022 != 0 {
        return Err("can be written by others; `chmod 700` it".into());
    }
    Ok(())
}

/// Digest and code, if the one fits the other.
fn read(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let (digest, code) = bytes.split_at_checked(DIGEST_BYTES)?;
    (Sha256::digest(code).as_slice() == digest).then_some(bytes)
}

/// Under a name of its own first: another process that reads at this moment sees all of it or nothing.
fn write(dir: &Path, path: &Path, code: &[u8]) -> std::io::Result<()> {
    make_room(dir)?;
    let draft = path.with_extension(format!("{}.{:?}.new", std::process::id(), std::thread::current().id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&Sha256::digest(code))?;
    file.write_all(code)?;
    drop(file);
    fs::rename(&draft, path)
}

fn make_room(dir: &Path) -> std::io::Result<()> {
    let mut files: Vec<_> = fs::read_dir(dir)?
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "cwasm"))
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
        .collect();
    if files.len() < MAX_FILES {
        return Ok(());
    }
    files.sort();
    for (_, path) in files.iter().take(files.len() + 1 - MAX_FILES) {
        fs::remove_file(path)?;
    }
    Ok(())
}
