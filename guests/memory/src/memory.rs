//! The memory sections of a turn.

use crate::change::Shelf;
use crate::scope::Scope;
use crate::snapshot::Snapshot;
use crate::{APPEND, TAPE, WORKSPACE, zone};
use bub_guest::tape::Draft;
use bub_guest::{Result, Tape, Turn};

/// The session's sidecar for its section: an anchor on the tape itself would move the view of Bub, which begins at the
/// newest anchor of any name.
const SIDECAR: &str = "memory";

/// The session's section, in a sidecar of its tape. Only the session's own turn writes there, so writes join the
/// turn's. Tapes of earlier versions contain the section themselves, which is read while its version is higher, but
/// never written.
pub struct Session {
    tape: Tape,
    sidecar: Tape,
}

/// The section on the workspace's tape. Any session may write there at any time, so writes take effect immediately.
pub struct Workspace(Tape);

impl Session {
    /// # Errors
    ///
    /// `denied`, without the grant.
    pub fn of(turn: &Turn) -> Result<Self> {
        let tape = turn.tape(TAPE)?;
        let sidecar = tape.sidecar(APPEND, SIDECAR)?;
        Ok(Self { tape, sidecar })
    }
}

impl Shelf for Session {
    fn read(&self) -> Result<(Option<Snapshot>, u64)> {
        let (own, older) = (snapshot(&self.sidecar)?, snapshot(&self.tape)?);
        let version = |zone: &Option<Snapshot>| zone.as_ref().map_or(0, |zone| zone.version);
        Ok((if version(&older) > version(&own) { older } else { own }, 0))
    }

    fn write(&self, _seen: u64, entries: &[Draft]) -> Result<()> {
        self.sidecar.writer(APPEND).append(entries).map(drop)
    }
}

impl Shelf for Workspace {
    fn read(&self) -> Result<(Option<Snapshot>, u64)> {
        // In front of the zone: what is written between the two makes the write a conflict.
        let last = self.0.tail(None, 1)?.first().map_or(0, |last| last.id);
        Ok((snapshot(&self.0)?, last))
    }

    fn write(&self, seen: u64, entries: &[Draft]) -> Result<()> {
        self.0.writer(APPEND).append_if(seen, entries).map(drop)
    }
}

fn snapshot(tape: &Tape) -> Result<Option<Snapshot>> {
    Ok(zone::read(&tape.section(zone::NAME)?))
}

/// The section of that scope; `None` before the first version.
///
/// # Errors
///
/// `denied`, without the grant.
pub fn read(turn: &Turn, scope: Scope) -> Result<Option<Snapshot>> {
    match scope {
        Scope::Session => Ok(Session::of(turn)?.read()?.0),
        Scope::Workspace => snapshot(&turn.workspace_tape(WORKSPACE)?),
    }
}

/// Changes the section of that scope.
///
/// # Errors
///
/// Those of [`change`](crate::change::change), and `denied` without the grant.
pub fn change<T>(
    turn: &Turn,
    scope: Scope,
    change: impl Fn(&mut Snapshot) -> Result<crate::change::Changed<T>>,
) -> Result<T> {
    match scope {
        Scope::Session => crate::change::change(&Session::of(turn)?, change),
        Scope::Workspace => crate::change::change(&Workspace(turn.workspace_tape(WORKSPACE)?), change),
    }
}
