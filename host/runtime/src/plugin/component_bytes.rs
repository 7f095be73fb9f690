//! The bytes that a plugin is compiled from, for as long as it may have to be compiled.

use super::digest::digest;
use super::discovery::bytes_of;
use super::embedded::Embedded;
use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

/// Where the bytes are.
pub(super) enum ComponentBytes {
    /// In this program, compressed.
    Embedded(&'static Embedded),
    /// In memory, as they were read and hashed. None: they were compiled, and the compiled code is kept.
    File(Mutex<Option<Arc<Vec<u8>>>>),
}

impl ComponentBytes {
    /// The bytes of a file, which are held until the plugin is compiled.
    pub(super) fn read(bytes: Vec<u8>) -> Self {
        Self::File(Mutex::new(Some(Arc::new(bytes))))
    }

    /// The bytes of that digest. The file is read again only if its compiled code was taken from the cache meanwhile.
    ///
    /// # Errors
    ///
    /// The file has changed since.
    pub(super) fn get(&self, file: Option<&Path>, expected: &str) -> Result<Arc<Vec<u8>>> {
        let held = match self {
            Self::Embedded(embedded) => return Ok(Arc::new(embedded.bytes()?)),
            Self::File(held) => held.lock().clone(),
        };
        if let Some(bytes) = held {
            return Ok(bytes);
        }
        let file = file.context("its bytes are gone")?;
        let bytes = bytes_of(file)?;
        if digest(&bytes) != expected {
            bail!(
                "its file has changed since it was loaded, and its compiled code is no longer kept; the next turn has the new file"
            );
        }
        Ok(Arc::new(bytes))
    }

    /// Lets go of bytes that are no longer needed.
    pub(super) fn drop_held(&self) {
        if let Self::File(held) = self {
            *held.lock() = None;
        }
    }
}
