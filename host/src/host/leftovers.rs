//! What is left over of tapes and nobody needs.

use crate::config::{Config, TapePlace};
use crate::tape::{Leftover, tidy};
use anyhow::{Context, Result};
use std::time::SystemTime;

/// Removes it, and says what it was; `dry`: only says it.
///
/// # Errors
///
/// The directory of tapes cannot be read.
pub(crate) fn leftovers(config: &Config, dry: bool) -> Result<Vec<Leftover>> {
    let dir = config.tapes_dir();
    // Where tapes are no files, the files here say nothing of which are gone.
    if !dir.exists() || config.tapes.place != TapePlace::Files {
        return Ok(Vec::new());
    }
    tidy(&dir, &config.index_dir(), SystemTime::now(), dry)
        .with_context(|| format!("`{}` cannot be tidied", dir.display()))
}
