//! Lists sessions, the newest first, without reading whole tapes.

use super::super::tape::TapeLocation;
use anyhow::Result;
use bub_tape::{Holder, SessionMark, SessionSummary, session_mark, session_summary};
use jiff::Timestamp;

/// Default sessions, whose tapes need not name them.
const KNOWN: [&str; 2] = ["cli:local", "cli_session"];

/// A session that has a tape.
pub(in crate::cli) struct Session {
    /// The name of its tape.
    pub(super) tape: String,
    /// Whether it is one of this workspace.
    pub(super) is_here: bool,
    /// When it was used last.
    pub(super) used: Option<Timestamp>,
    /// The process that runs a turn of it now.
    pub(super) held_by: Option<Holder>,
    pub(super) about: SessionSummary,
}

/// Selects sessions.
#[derive(Clone, Copy, Default)]
pub(in crate::cli) struct Filter<'a> {
    /// Include other workspaces.
    pub(in crate::cli) all: bool,
    /// Only those that started on that channel.
    pub(in crate::cli) channel: Option<&'a str>,
}

impl Session {
    /// Its id, if it is known.
    pub(in crate::cli) fn id(&self) -> Option<&str> {
        self.about.mark.as_ref().map(|mark| mark.id.as_str())
    }

    /// The channel of its first message, if it is known.
    pub(super) fn channel(&self) -> &str {
        self.about.mark.as_ref().map_or("", |mark| &mark.channel)
    }
}

/// The newest `most` matching sessions, and the number of further ones if it is known without reading them.
///
/// # Errors
///
/// The tapes cannot be read.
pub(in crate::cli) async fn newest(
    location: &TapeLocation,
    filter: Filter<'_>,
    most: usize,
) -> Result<(Vec<Session>, usize)> {
    let Some(tapes) = location.tapes() else { return Ok((Vec::new(), 0)) };
    let mut names = location.names().await?;
    names.retain(|name| !bub_tape::is_workspace_tape(name) && (filter.all || location.is_of_workspace(name)));
    let mut dated = Vec::with_capacity(names.len());
    for name in names {
        dated.push((location.used(&name).await?, name));
    }
    // Sessions of the same time are sorted by name, so that the order is stable.
    dated.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let (mut found, mut looked) = (Vec::new(), 0);
    for (used, tape) in &dated {
        if found.len() >= most {
            break;
        }
        looked += 1;
        // An interrupted write can leave an empty tape, which is not a session.
        if used.is_none() {
            continue;
        }
        if let Some(channel) = filter.channel
            && mark(location, tape).await?.is_none_or(|mark| mark.channel != channel)
        {
            continue;
        }
        let about = session_summary(&tapes.open(tape)?).await?;
        found.push(Session {
            is_here: location.is_of_workspace(tape),
            used: *used,
            held_by: tapes.journals().holder(tape).await,
            about: SessionSummary { mark: about.mark.or_else(|| known(location, tape)), ..about },
            tape: tape.clone(),
        });
    }
    Ok((found, dated.len() - looked))
}

/// The session of a tape: as named on it or beside it, or a default session.
///
/// # Errors
///
/// The tape cannot be read.
pub(in crate::cli) async fn mark(location: &TapeLocation, tape: &str) -> Result<Option<SessionMark>> {
    let Some(tapes) = location.tapes() else { return Ok(None) };
    match known(location, tape) {
        Some(mark) => Ok(Some(mark)),
        None => Ok(session_mark(&**tapes.store(), tape).await?),
    }
}

fn known(location: &TapeLocation, tape: &str) -> Option<SessionMark> {
    if let Some(record) = location.record(tape) {
        let workspace = record.workspace.to_string_lossy().into_owned();
        return Some(SessionMark { id: record.session, workspace, channel: "cli".to_owned() });
    }
    let session = KNOWN.into_iter().find(|session| location.tape_name(session) == tape)?;
    let (id, workspace) = (session.to_owned(), location.workspace().to_string_lossy().into_owned());
    Some(SessionMark { id, workspace, channel: "cli".to_owned() })
}
