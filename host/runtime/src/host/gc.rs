//! Garbage collection of tape files and old memory versions.

use anyhow::{Context, Result};
use bub_config::{Config, TapeStorage};
use bub_tape::{Garbage, MEMORY, Tapes, gc, is_workspace_tape, sidecar_name};
use jiff::Timestamp;
use std::time::SystemTime;

/// Removes garbage and returns what it was. With `dry` it is only listed.
///
/// # Errors
/// Fails if the tape directory cannot be read.
pub fn garbage(config: &Config, dry: bool) -> Result<Vec<Garbage>> {
    let dir = config.tapes_dir();
    // Where tapes are not files, the files here do not tell which tapes still exist.
    if !dir.exists() || config.tapes.storage != TapeStorage::Files {
        return Ok(Vec::new());
    }
    gc(&dir, &config.index_dir(), SystemTime::now(), dry)
        .with_context(|| format!("`{}` cannot be tidied", dir.display()))
}

/// Entries that were taken out of memories, or would be, and on how many tapes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compacted {
    /// Entries that were removed, or would be.
    pub entries: u64,
    /// Tapes that held them.
    pub tapes: u64,
}

/// Tape names per page.
const NAMES: usize = 256;

/// Takes versions of memories out of all tapes that are older than `memory_history_days` says: of workspaces on their
/// tapes, of sessions in their sidecars. A tape that is in use, or whose store cannot do it, is left for the next time.
///
/// # Errors
///
/// The tapes cannot be listed.
pub async fn compact_memories(tapes: &Tapes, days: u32, dry: bool) -> Result<Compacted> {
    let cutoff = cutoff(days);
    let mut compacted = Compacted::default();
    let mut names: Vec<String> = Vec::new();
    loop {
        let page = tapes.store().list(names.last().map(String::as_str), NAMES).await?;
        if page.is_empty() {
            break;
        }
        names.extend(page);
    }
    for name in names {
        let mut kept_in = Vec::new();
        if is_workspace_tape(&name) {
            kept_in.push(None);
        } else {
            let memory = sidecar_name(&name, MEMORY)?;
            kept_in.extend(tapes.store().sidecars(&name).await?.contains(&memory).then_some(Some(MEMORY)));
        }
        for sidecar in kept_in {
            match tapes.compact(&name, sidecar, cutoff, dry).await {
                Ok(0) => {}
                Ok(entries) => {
                    compacted.entries += entries;
                    compacted.tapes += 1;
                }
                Err(error) => tracing::debug!("the memory on tape `{name}` keeps its old versions for now: {error}"),
            }
        }
    }
    Ok(compacted)
}

/// Versions that were replaced before this moment are removed.
pub fn cutoff(days: u32) -> Timestamp {
    let kept = jiff::SignedDuration::from_hours(24 * i64::from(days));
    Timestamp::now().checked_sub(kept).unwrap_or(Timestamp::MIN)
}
