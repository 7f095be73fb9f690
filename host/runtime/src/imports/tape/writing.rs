//! Writes of a guest to a tape: checked, signed by the host, and with the taint of its turn.

use crate::guest::State;
use crate::guest::bindings::entries::Draft;
use crate::guest::handles::TapeHandle;
use crate::turn::{DenialReason, TAINTED, TAINTED_MARK};
use bub_permissions::Grant;
use bub_tape::json;
use bub_types::Error;
use std::borrow::Cow;

impl State {
    /// The drafts as they are written: signed, and prepared to stand behind what taints them.
    pub(super) fn signed(&self, handle: &TapeHandle, drafts: Vec<Draft>) -> Result<Signed, Error> {
        // Text that the owner types is clean, unless the call has read text before it writes.
        let is_clean = handle.turn.is_typed(self.depth) && !self.has_read;
        Ok(Signed { drafts: self.sign(handle, drafts)?, is_clean })
    }

    /// The drafts as they will stand: checked, and with the host's own words in their meta.
    fn sign(&self, handle: &TapeHandle, drafts: Vec<Draft>) -> Result<Vec<bub_tape::Draft>, Error> {
        // The workspace's tape is no part of the lease, but this turn is over.
        handle.turn.check_lease()?;
        let only_events = drafts.iter().all(|draft| draft.kind == "event");
        if !(only_events && self.holds(&Grant::TAPE_APPEND)) {
            let wanted = if only_events { Grant::TAPE_EVENT } else { Grant::TAPE_APPEND };
            self.granted(&wanted)?;
        }
        handle
            .may_change()
            .map_err(|error| self.denied(DenialReason::Policy, Grant::TAPE_WORKSPACE.as_str(), error))?;
        drafts.into_iter().map(|draft| self.sign_one(handle, &draft)).collect()
    }

    fn sign_one(
        &self,
        TapeHandle { turn, is_shared, .. }: &TapeHandle,
        draft: &Draft,
    ) -> Result<bub_tape::Draft, Error> {
        let payload = match draft.kind.as_str() {
            // The tape keeps the media themselves: marks are a turn's own.
            "message" => turn.scope.media.restore(&draft.payload)?,
            _ => Cow::Borrowed(&*draft.payload),
        };
        let mut signed = bub_tape::Draft::new(&draft.kind, &payload, &draft.meta)?;
        if json::get(&draft.meta, "plugin").is_some() {
            let error = Error::denied("`plugin` in an entry's meta is the host's to write");
            return Err(self.denied(DenialReason::Reserved, "", error));
        }
        // A plugin that could write it could hide sources of taint.
        if draft.kind == "event" && json::get(&draft.payload, "name").and_then(json::string).as_deref() == Some(TAINTED)
        {
            let error = Error::denied(format!("the event `{TAINTED}` is the host's to write"));
            return Err(self.denied(DenialReason::Reserved, "", error));
        }
        if let Some(id) = json::get(&draft.meta, "run_id") {
            let given = json::string(id).is_some_and(|id| turn.gave_run_id(&id));
            if !given {
                return Err(Error::invalid(format!("the run id {id} was not given out by this turn")));
            }
        }
        // The record of the turn is the model hook's own; entries of all other plugins carry a name.
        if !turn.is_streaming(&self.plugin.name) {
            signed = signed.with_meta("plugin", &json::quote(&self.plugin.name))?;
        }
        // Entries that other sessions read carry the mark of text from outside themselves: their turns do not know this
        // one. A copy of earlier content states that it is clean.
        match json::get(&draft.meta, TAINTED_MARK) {
            Some("true") => Ok(signed),
            Some("false") => Ok(signed.without_meta(TAINTED_MARK)?),
            Some(_) => Err(Error::invalid("`tainted` in an entry's meta is `true` or `false`")),
            None if *is_shared && turn.tainted().is_some() => Ok(signed.with_meta(TAINTED_MARK, "true")?),
            None => Ok(signed),
        }
    }
}

/// Drafts that a guest may write.
pub(super) struct Signed {
    drafts: Vec<bub_tape::Draft>,
    /// The owner has typed what they say.
    is_clean: bool,
}

/// The drafts with the taint of their turn: in front of them, and, where they begin a phase of its tape, behind them.
pub(super) async fn prepared(
    handle: &TapeHandle,
    signed: Result<Signed, Error>,
) -> Result<Vec<bub_tape::Draft>, Error> {
    let Signed { mut drafts, is_clean } = signed?;
    let turn = &handle.turn;
    if !turn.is_tape(&handle.tape) {
        return Ok(drafts);
    }
    // A tape that was emptied begins anew, and is of the same session.
    if let Some(mark) = turn.session_mark() {
        mark.stamp(&mut drafts)?;
    }
    // In front of what it taints, so that a crash does not leave the one without the other.
    if turn.owns(&handle.tape) {
        turn.write_taint().await?;
    }
    if drafts.iter().any(|draft| draft.clone().numbered(0).begins_phase()) {
        drafts.extend(turn.carried_taint(is_clean)?);
    }
    Ok(drafts)
}
