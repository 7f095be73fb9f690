//! Receipts: what a turn and the turns inside it have done outside of the tape, for those who check it later.
//!
//! They are entries of the sidecar `receipts`, so that neither a model nor a plugin reads them, and say nothing of what was
//! said: names, numbers and digests.

use super::audit::Receipts;
use super::data::Turn;
use bub_tape::RECEIPTS;
use bub_types::is_ephemeral;
use bub_types::text::clipped;
use serde_json::{Value, json};
use std::mem::take;

/// The event with receipts.
const EVENT: &str = "turn.receipts";

/// Receipts in one entry.
const MAX_TOGETHER: usize = 64;

/// Receipts that wait to be written. Of more, the number is told.
const MAX_WAITING: usize = 1024;

/// The longest text of a receipt, in characters.
const MAX_TEXT: usize = 300;

impl Turn {
    /// Adds a receipt to those of the outermost turn. `kind` says what was done.
    pub fn receipt(&self, kind: &str, mut what: Value) {
        let outermost = self.outermost();
        if !outermost.keeps_receipts() {
            return;
        }
        if let Some(fields) = what.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
            for value in fields.values_mut() {
                if let Value::String(text) = value {
                    *text = clipped(&outermost.scope.host.config.redact(text), MAX_TEXT);
                }
            }
            fields.shift_insert(0, "kind".to_owned(), kind.into());
        }
        outermost.audit(|audit| match audit.receipts.waiting.len() < MAX_WAITING {
            true => audit.receipts.waiting.push(what),
            false => audit.receipts.omitted += 1,
        });
    }

    /// Writes the receipts of the outermost turn that wait. A turn goes on where that fails: its commit will, too.
    pub(crate) async fn write_receipts(&self) {
        if let Err(error) = self.outermost().try_write_receipts().await {
            tracing::warn!("receipts of this turn are not kept: {error}");
        }
    }

    async fn try_write_receipts(&self) -> bub_tape::Result<()> {
        // A turn that has only looked something up begins no tape.
        let is_open = self.has_opened_tape();
        let is_worth_it = |receipts: &Receipts| is_open || receipts.waiting.iter().any(|what| what["kind"] != "tool");
        let Receipts { waiting, omitted } = self.audit(|audit| match is_worth_it(&audit.receipts) {
            true => take(&mut audit.receipts),
            false => Receipts::default(),
        });
        if waiting.is_empty() {
            return Ok(());
        }
        let tape = self.tape().await?;
        let tape = if self.is_settled() { tape.stored() } else { tape };
        let mut events = Vec::new();
        for together in waiting.chunks(MAX_TOGETHER) {
            let mut data = json!({ "turn": self.id, "receipts": together });
            if let (true, Some(data)) = (omitted > 0 && events.is_empty(), data.as_object_mut()) {
                data.insert("omitted".to_owned(), omitted.into());
            }
            events.push(bub_tape::event(EVENT, &data.to_string())?.with_meta("context", "false")?);
        }
        tape.sidecar(RECEIPTS)?.append(events).await.map(drop)
    }

    fn keeps_receipts(&self) -> bool {
        !self.is_preview() && !is_ephemeral(&self.session_id) && self.scope.host.config.records_receipts()
    }
}
