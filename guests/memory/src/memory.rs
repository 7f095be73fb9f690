//! The zones of a turn, on their tapes.

use crate::bub::tape::tape::Tape;
use crate::change::Shelf;
use crate::exports::bub::tools::tools::Turn;
use crate::scope::Scope;
use crate::snapshot::Snapshot;
use crate::{Draft, Error, zone};

/// The session's sidecar that holds its zone: an anchor on the tape itself would move the view of Bub, which begins behind
/// the newest anchor of any name.
const SIDECAR: &str = "memory";

/// The session's zone, in a sidecar of its tape. Only the session's own turn writes there, so what is written joins the
/// turn's other writes. Tapes of earlier versions hold a zone themselves, which is read as long as its version is the
/// higher one, and never written again.
pub struct Session {
    tape: Tape,
    sidecar: Tape,
}

/// The zone on the workspace's tape. Any session may write there at any moment, so what is written is there at once.
pub struct Workspace(Tape);

impl Session {
    /// # Errors
    ///
    /// `denied`, without the grant.
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
        // In front of the zone: what is written between the two makes the write a conflict.
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

/// The zone of that scope; none: no zone was written yet.
///
/// # Errors
///
/// `denied`, without the grant.
pub fn read(turn: &Turn, scope: Scope) -> Result<Option<Snapshot>, Error> {
    match scope {
        Scope::Session => Ok(Session::of(turn)?.read()?.0),
        Scope::Workspace => snapshot(&turn.workspace_tape()?),
    }
}

/// Changes the zone of that scope.
///
/// # Errors
///
/// Those of [`change`](crate::change::change), and `denied`, without the grant.
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
