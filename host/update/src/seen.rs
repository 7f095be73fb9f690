//! The newest index of each key that was seen, in the home: an older one is an attack, or a mirror that lags.

use crate::Index;
use anyhow::{Context, Result, bail, ensure};
use bub_registry::PublicKey;
use bub_system::files::{Draft, make_private_dir, read_regular};
use bub_types::text::one_line;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The name of the file.
pub const SEEN_FILE: &str = "update.json";

/// The longest file, in bytes.
const MAX: usize = 64 << 10;

/// Keys that are kept, at most.
const MAX_KEYS: usize = 100;

#[derive(Default, Serialize, Deserialize)]
struct Seen {
    /// When the newest index was made, by the id of the key that signed it.
    created: BTreeMap<String, Timestamp>,
}

impl Index {
    /// Refuses the index if a newer one by the same key was seen, and writes it down otherwise.
    ///
    /// # Errors
    ///
    /// It is older, or the file cannot be read or written.
    pub fn check_seen(&self, home: &Path, key: &PublicKey) -> Result<()> {
        let path = home.join(SEEN_FILE);
        let shown = one_line(&path.display().to_string());
        let mut seen = match read_regular(&path, MAX + 1) {
            Err(error) if error.kind() == ErrorKind::NotFound => Seen::default(),
            Err(error) => bail!("`{shown}` cannot be read: {error}"),
            Ok((bytes, _)) => {
                serde_json::from_slice(&bytes).ok().filter(|_| bytes.len() <= MAX).with_context(|| {
                    format!("`{shown}` is damaged: remove it, and the next index is taken for the newest")
                })?
            }
        };
        let before = seen.created.get(key.id()).copied();
        if let Some(before) = before.filter(|before| *before > self.created) {
            bail!(
                "it was made on {}, and one of {before} was seen before: someone may be holding updates back",
                self.created
            );
        }
        if before == Some(self.created) {
            return Ok(());
        }
        seen.created.insert(key.id().to_owned(), self.created);
        ensure!(seen.created.len() <= MAX_KEYS, "`{shown}` has more than {MAX_KEYS} keys: remove it");
        let written = make_private_dir(home).and_then(|()| {
            let mut draft = Draft::new(&path, 0o600)?;
            writeln!(draft, "{}", serde_json::to_string_pretty(&seen)?)?;
            draft.publish_durably()
        });
        written.with_context(|| format!("`{shown}` cannot be written"))
    }
}
