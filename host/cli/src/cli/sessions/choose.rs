//! Finds a session by its id or name.

use super::super::tape::TapeLocation;
use super::super::text;
use super::lookup::{Filter, Session, newest};
use super::table;
use anyhow::{Result, bail};
use bub_types::suggest;

/// Sessions whose names are searched.
const MAX_SESSIONS: usize = 1000;

/// The session of this workspace with that id or name.
///
/// # Errors
///
/// There is none, or several have the name.
pub(in crate::cli) async fn find_by_name(location: &TapeLocation, word: &str) -> Result<Session> {
    let (sessions, _) = newest(location, Filter::default(), MAX_SESSIONS).await?;
    let shown = text::cut(word, 60);
    let by_id = sessions.iter().position(|session| session.id() == Some(word));
    let is_name = |session: &Session| session.id().is_some() && session.about.name.as_deref() == Some(word.trim());
    let by_name: Vec<usize> = (0..sessions.len()).filter(|at| sessions.get(*at).is_some_and(is_name)).collect();
    let at = match (by_id, by_name.as_slice()) {
        (Some(at), _) => at,
        (None, [at]) => *at,
        (None, []) => {
            let known =
                sessions.iter().flat_map(|session| session.id().into_iter().chain(session.about.name.as_deref()));
            let hint = match suggest::nearest(word, known) {
                Some(near) => format!("did you mean `{}`?", text::line(near)),
                None => "`bub-wasm sessions` lists them".to_owned(),
            };
            bail!("this workspace has no session `{shown}`: {hint}");
        }
        (None, several) => {
            let ids = several.iter().filter_map(|at| sessions.get(*at)?.id());
            let ids: Vec<String> = ids.map(|id| format!("`{}`", text::cut(id, 40))).collect();
            bail!("{} sessions have the name `{shown}`: say which of {}", ids.len(), ids.join(", "));
        }
    };
    match sessions.into_iter().nth(at) {
        Some(session) => Ok(session),
        None => bail!("this workspace has no session `{shown}`"),
    }
}

/// The sessions of this workspace at the terminal: a numbered line for each, and its id.
///
/// # Errors
///
/// The tapes cannot be read.
pub(in crate::cli) async fn recent(
    location: &TapeLocation,
    most: usize,
    width: usize,
) -> Result<Vec<(String, String)>> {
    let (sessions, _) = newest(location, Filter { all: false, channel: Some("cli") }, most).await?;
    let known = sessions.iter().filter_map(|session| Some((session.id()?.to_owned(), session)));
    Ok(known.enumerate().map(|(at, (id, session))| (id, table::numbered(at + 1, session, width))).collect())
}
