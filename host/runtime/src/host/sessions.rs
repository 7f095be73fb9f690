//! The newest sessions, without reading whole tapes.

use super::data::Host;
use bub_tape::{SessionSummary, is_workspace_tape, session_summary, tape_name};
use bub_types::is_ephemeral;
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;

/// Sessions that are listed.
const MAX_SESSIONS: usize = 100;

/// Tapes whose last entry is looked at.
const MAX_TAPES: usize = 10_000;

/// Names of tapes that are read at once.
const STEP: usize = 1000;

/// Sessions of Bub, whose tapes need not name them.
const KNOWN: [&str; 2] = ["cli:local", "cli_session"];

/// A session with its tape.
#[derive(Debug, Clone)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// What its tape says of it.
    pub about: SessionSummary,
}

/// The newest sessions of that workspace, or of all, whose ids begin with the prefix, newest first. The workspace's path is
/// absolute and without links.
///
/// # Errors
///
/// The tapes cannot be read.
pub async fn newest_sessions(
    host: &Arc<Host>,
    workspace: Option<&Path>,
    prefix: &str,
) -> bub_tape::Result<Vec<ListedSession>> {
    let tapes = host.tapes();
    // The name of a tape begins with a digest of its workspace.
    let own = workspace.map(|workspace| tape_name(workspace, ""));
    let own = own.as_ref().map(|own| own.split_once("__").map_or("", |(half, _)| half));
    let is_of_workspace = |name: &String| match own {
        Some(own) => name.split_once("__").is_some_and(|(half, _)| half == own),
        None => name.contains("__"),
    };
    let (mut dated, mut after) = (Vec::new(), None::<String>);
    loop {
        let names = tapes.store().list(after.as_deref(), STEP).await?;
        let Some(last) = names.last() else { break };
        after = Some(last.clone());
        let wanted = names.into_iter().filter(is_of_workspace);
        for name in wanted.filter(|name| !is_workspace_tape(name)) {
            if let Some(last) = tapes.store().tail(&name, None, 1).await?.pop() {
                dated.push((last.date.parse().unwrap_or(Timestamp::UNIX_EPOCH), name));
            }
        }
        if dated.len() >= MAX_TAPES {
            tracing::warn!("the tapes behind the first {MAX_TAPES} are not listed");
            break;
        }
    }
    // Sessions of the same moment are sorted by name, so that the order is stable.
    dated.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let mut sessions = Vec::new();
    for (_, name) in dated {
        if sessions.len() >= MAX_SESSIONS {
            break;
        }
        let about = session_summary(&tapes.open(&name)?).await?;
        let known =
            || workspace.and_then(|own| KNOWN.into_iter().find(|id| tape_name(own, id) == name)).map(str::to_owned);
        let Some(id) = about.mark.as_ref().map(|mark| mark.id.clone()).or_else(known) else { continue };
        if id.starts_with(prefix) && !is_ephemeral(&id) && !id.is_empty() {
            sessions.push(ListedSession { id, about });
        }
    }
    Ok(sessions)
}
