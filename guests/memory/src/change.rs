//! Changes of a section: read, modify, and write the next version.

use crate::snapshot::Snapshot;
use crate::zone;
use bub_guest::tape::Draft;
use bub_guest::{Error, ErrorKind, Result};

/// Retries after a concurrent write.
const RETRIES: usize = 5;

/// Maximum size of a section, in bytes.
pub const MAX_ZONE: usize = 1 << 20;

/// A tape with a section.
pub trait Shelf {
    /// The current version, `None` before the first, and the id that a write must name so that it is rejected if another
    /// writer was first.
    fn read(&self) -> Result<(Option<Snapshot>, u64)>;

    /// Writes a version atomically.
    ///
    /// # Errors
    ///
    /// `conflict`, when something was written since `seen` was read.
    fn write(&self, seen: u64, entries: &[Draft]) -> Result<()>;
}

/// The result of a change.
pub enum Changed<T> {
    /// Write the section.
    Write(T),
    /// Leave it unchanged.
    Leave(T),
}

/// Changes the section. `change` gets the current version, and is called again after a conflict.
///
/// # Errors
///
/// The error of `change`; `conflict`, when another writer was first each time; `invalid-input`, when the zone takes no
/// more.
pub fn change<T>(shelf: &impl Shelf, change: impl Fn(&mut Snapshot) -> Result<Changed<T>>) -> Result<T> {
    for tried in 0..=RETRIES {
        let (found, seen) = shelf.read()?;
        let mut zone = found.unwrap_or_default();
        let outcome = match change(&mut zone)? {
            Changed::Write(outcome) => outcome,
            Changed::Leave(outcome) => return Ok(outcome),
        };
        advance(&mut zone)?;
        match shelf.write(seen, &zone::write(&zone)) {
            Ok(()) => return Ok(outcome),
            Err(error) if error.kind == ErrorKind::Conflict && tried < RETRIES => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(ErrorKind::Conflict, "others are writing to this memory: try again"))
}

/// The next version, if there is one and the zone is not too large.
fn advance(zone: &mut Snapshot) -> Result<()> {
    if zone.bytes() > MAX_ZONE {
        let message = format!(
            "the memory would hold {} bytes, and takes {MAX_ZONE}: summarise the long-term memory, or forget old notes",
            zone.bytes()
        );
        return Err(Error::invalid(message));
    }
    let Some(next) = zone.version.checked_add(1) else {
        let message = "the memory's versions are used up: nothing can be written to it before `tape reset`";
        return Err(Error::invalid(message));
    };
    zone.version = next;
    Ok(())
}

#[cfg(test)]
mod tests;
