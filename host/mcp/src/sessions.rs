//! The newest sessions of a workspace, without reading whole tapes.

use bub_runtime::host::Host;
use bub_tape::{SessionSummary, is_workspace_tape, session_summary, tape_name};
use bub_types::is_ephemeral;
use jiff::Timestamp;
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
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) about: SessionSummary,
}

/// The newest sessions of the host's workspace whose ids begin with the prefix, newest first.
pub(crate) async fn newest(host: &Arc<Host>, prefix: &str) -> bub_tape::Result<Vec<Listed>> {
    let tapes = host.tapes();
    // The name of a tape begins with a digest of its workspace.
    let own = tape_name(&host.workspace, "");
    let own = own.split_once("__").map_or("", |(half, _)| half);
    let (mut dated, mut after) = (Vec::new(), None::<String>);
    loop {
        let names = tapes.store().list(after.as_deref(), STEP).await?;
        let Some(last) = names.last() else { break };
        after = Some(last.clone());
        let of_workspace = names.into_iter().filter(|name| name.split_once("__").is_some_and(|(half, _)| half == own));
        for name in of_workspace.filter(|name| !is_workspace_tape(name)) {
            if let Some(last) = tapes.store().tail(&name, None, 1).await?.pop() {
                dated.push((last.date.parse().unwrap_or(Timestamp::UNIX_EPOCH), name));
            }
        }
        if dated.len() >= MAX_TAPES {
            tracing::warn!("the tapes behind the first {MAX_TAPES} of this workspace are not listed as resources");
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
        let known = || KNOWN.into_iter().find(|id| tape_name(&host.workspace, id) == name).map(str::to_owned);
        let Some(id) = about.mark.as_ref().map(|mark| mark.id.clone()).or_else(known) else { continue };
        if id.starts_with(prefix) && !is_ephemeral(&id) && !id.is_empty() {
            sessions.push(Listed { id, about });
        }
    }
    Ok(sessions)
}
