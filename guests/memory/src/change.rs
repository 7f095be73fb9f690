//! How a zone is changed: it is read, and written anew under the next version.

use crate::snapshot::Snapshot;
use crate::{Draft, Error, ErrorKind, error, zone};

/// How often a change is tried again when somebody else wrote in between.
const RETRIES: usize = 5;

/// The most that a zone may hold, in bytes.
pub const MAX_ZONE: usize = 1 << 20;

/// A tape that holds a zone.
pub trait Shelf {
    /// What holds; none: no zone was written yet. And what a write must name so that it is refused when somebody else
    /// wrote in between.
    fn read(&self) -> Result<(Option<Snapshot>, u64), Error>;

    /// Writes a zone, all of it or nothing.
    ///
    /// # Errors
    ///
    /// `conflict`, when something was written since `seen` was read.
    fn write(&self, seen: u64, entries: &[Draft]) -> Result<(), Error>;
}

/// What a change makes of a zone.
pub enum Changed<T> {
    /// It is to be written.
    Write(T),
    /// It stays as it is.
    Leave(T),
}

/// Changes the zone. `change` sees what holds at that moment, and is asked again when somebody else was faster.
///
/// # Errors
///
/// What `change` says; `conflict`, when somebody else was faster each time; `invalid-input`, when the zone takes no more.
pub fn change<T>(shelf: &impl Shelf, change: impl Fn(&mut Snapshot) -> Result<Changed<T>, Error>) -> Result<T, Error> {
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
    Err(error(ErrorKind::Conflict, "others are writing to this memory: try again"))
}

/// The next version, if there is one and the zone is not too large.
fn advance(zone: &mut Snapshot) -> Result<(), Error> {
    if zone.bytes() > MAX_ZONE {
        let message = format!(
            "the memory would hold {} bytes, and takes {MAX_ZONE}: summarise the long-term memory, or forget old notes",
            zone.bytes()
        );
        return Err(error(ErrorKind::InvalidInput, message));
    }
    let Some(next) = zone.version.checked_add(1) else {
        let message = "the memory's versions are used up: nothing can be written to it before `tape reset`";
        return Err(error(ErrorKind::InvalidInput, message));
    };
    zone.version = next;
    Ok(())
}

#[cfg(test)]
mod tests;
