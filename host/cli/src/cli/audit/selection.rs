//! The sessions that a command is about.

use super::super::tape::TapeLocation;
use super::super::text;
use anyhow::{Context, Result, bail};
use bub_tape::Store;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Tapes of sessions.
#[derive(clap::Args)]
pub(super) struct Selection {
    /// Sessions of this workspace, or names of tapes [default: all tapes]
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
}

impl Selection {
    /// The names of the tapes. `known`: tapes that may be gone, and are meant where all are.
    ///
    /// # Errors
    ///
    /// There is no such session, or the tapes cannot be listed.
    pub(super) async fn tapes(&self, location: &TapeLocation, known: &[String]) -> Result<Vec<String>> {
        if self.sessions.is_empty() {
            let mut names: BTreeSet<String> = location.names().await?.into_iter().collect();
            names.extend(known.iter().cloned());
            return Ok(names.into_iter().collect());
        }
        let mut names = Vec::new();
        for given in &self.sessions {
            let own = location.tape_name(given);
            let is_there = |name: &str| known.iter().any(|known| known == name);
            let name = match () {
                () if holds(location, &own).await? || is_there(&own) => own,
                () if bub_tape::is_listed(given) && (holds(location, given).await? || is_there(given)) => given.clone(),
                () => bail!(
                    "`{}` is neither a session of this workspace nor a tape; `bub-wasm sessions` and `bub-wasm tape list` show them",
                    text::line(given)
                ),
            };
            names.push(name);
        }
        Ok(names)
    }
}

async fn holds(location: &TapeLocation, name: &str) -> Result<bool> {
    if bub_tape::check_tape_name(name).is_err() {
        return Ok(false);
    }
    Ok(match location.tapes() {
        Some(tapes) => tapes.store().last_id(name).await? > 0,
        None => false,
    })
}

/// The store of a location.
///
/// # Errors
///
/// No tape was ever stored.
pub(super) fn store(location: &TapeLocation) -> Result<Arc<dyn Store>> {
    Ok(Arc::clone(location.tapes().context("there are no tapes yet")?.store()))
}

/// The session of a tape for people; the tape's name where it is not known.
pub(super) async fn title(location: &TapeLocation, tape: &str) -> String {
    match location.session(tape).await {
        Ok(Some(session)) if session.is_empty() => "(workspace)".to_owned(),
        Ok(Some(session)) if location.is_of_workspace(tape) => text::line(&session),
        _ => tape.to_owned(),
    }
}
