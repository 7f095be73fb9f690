//! The memory sections of a turn.

use crate::bub::tape::tape::Tape;
use crate::change::Shelf;
use crate::exports::bub::tools::tools::Turn;
use crate::scope::Scope;
use crate::snapshot::Snapshot;
use crate::{Draft, Error, zone};

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
    /// `denied` without the grant.
    pub fn of(turn: &Turn) -> Result<Self, Error> {
        let tape = turn.tape()?;
        let sidecar = tape.sidecar(SIDECAR)?;
        Ok(Self { tape, sidecar })
    }
}

impl Shelf for Session {
    fn read(&self) -> Result<(Option<Snapshot>, u64), Error> {
        let (own, older) = (snapshot(&self.sidecar)?, snapshot(&self.tape)?);
        let version = |zone: &Option<Snapshot>| zone.as_ref().map_or(0, |zone| zone.version);
        Ok((if version(&older) > version(&own) { older } else { own }, 0))
    }

    fn write(&self, _seen: u64, entries: &[Draft]) -> Result<(), Error> {
        self.sidecar.append(entries).map(drop)
    }
}

impl Shelf for Workspace {
    fn read(&self) -> Result<(Option<Snapshot>, u64), Error> {
        // Read before the section: a write in between then causes a conflict.
        let last = self.0.tail(None, 1)?.first().map_or(0, |last| last.id);
        Ok((snapshot(&self.0)?, last))
    }

    fn write(&self, seen: u64, entries: &[Draft]) -> Result<(), Error> {
        self.0.append_if(seen, entries).map(drop)
    }
}

fn snapshot(tape: &Tape) -> Result<Option<Snapshot>, Error> {
    Ok(zone::read(&tape.section(zone::NAME)?))
}

/// The section of that scope; `None` before the first version.
///
/// # Errors
///
/// `denied` without the grant.
pub fn read(turn: &Turn, scope: Scope) -> Result<Option<Snapshot>, Error> {
    match scope {
        Scope::Session => Ok(Session::of(turn)?.read()?.0),
        Scope::Workspace => snapshot(&turn.workspace_tape()?),
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
    change: impl Fn(&mut Snapshot) -> Result<crate::change::Changed<T>, Error>,
) -> Result<T, Error> {
    match scope {
        Scope::Session => crate::change::change(&Session::of(turn)?, change),
        Scope::Workspace => crate::change::change(&Workspace(turn.workspace_tape()?), change),
    }
}
