//! The tapes of a turn: its fork of the session's, and the workspace's.

use super::data::Turn;
use crate::channel::shown;
use crate::plugin::model_name;
use bub_tape::Tape;
use bub_types::{MessageKind, Prompt, ToolCall};

impl Turn {
    /// The name of the tape that the turn writes to.
    pub fn tape_name(&self) -> &str {
        self.tape.name()
    }

    /// The tape, with its first anchor. A turn that never uses the tape does not create one.
    pub async fn tape(&self) -> bub_tape::Result<Tape> {
        let begin = async || {
            // A finalized turn that did not use the tape does not create it.
            if self.is_settled() {
                return Ok(false);
            }
            let is_new = self.tape.begin_session(self.session_mark().as_ref()).await?;
            // A holder of the tape can read it, so its taint counts from now on. It is looked for from the end, so that a
            // long phase is not read.
            self.inherit_taint().await?;
            bub_tape::Result::Ok(is_new)
        };
        self.tape_opened.get_or_try_init(begin).await?;
        Ok(self.tape.clone())
    }

    /// The workspace's own tape, shared by its sessions.
    pub fn workspace_tape(&self) -> bub_tape::Result<Tape> {
        match &self.shared {
            Some(tape) => Ok(tape.clone().without_forgotten()),
            None => {
                let tapes = self.scope.host.tapes_of(&self.scope);
                Ok(tapes.open(&bub_tape::workspace_tape_name(&self.workspace))?.without_forgotten())
            }
        }
    }

    /// The prompt is made. From here on a crash does not lose what the user said.
    pub(super) async fn record_prompt(&self, prompt: &Prompt) -> bub_tape::Result<()> {
        // Should the turn fail, the words are kept and not the media: they may be why it did.
        let (text, media) = match prompt {
            Prompt::Text(text) => (text.clone(), 0),
            Prompt::Parts(parts) => (self.scope.media.told(parts), self.scope.media.weight(parts)),
        };
        self.set_prompt(text.clone());
        self.tape.check_media(media)?;
        if self.kind() == MessageKind::Command {
            return Ok(());
        }
        // A recovery after a crash puts the words on the tape; what they taint must not read them as the owner's.
        if self.tainted().is_some() {
            self.write_taint().await?;
        }
        self.tape.keep_prompt(&text)
    }

    /// Records that a tool with an irreversible effect starts.
    pub async fn tool_begins(&self, call: &ToolCall) -> bub_tape::Result<()> {
        self.tape.keep_tool(&recorded(call)).await?;
        self.check_lease()
    }

    /// A tool that a person called by a command has answered, well or not: its turn says what came of it.
    pub fn typed_tool_ends(&self, call: &ToolCall) {
        self.tape.end_tool(&recorded(call));
    }

    pub(super) fn prompt_text(&self) -> String {
        self.progress().prompt.as_deref().map_or_else(|| shown(&self.message), str::to_owned)
    }

    /// Whether that is the turn's own tape.
    pub fn owns(&self, tape: &Tape) -> bool {
        self.tape.is_same(tape)
    }

    /// The last id on the tape when the turn began.
    pub fn began(&self) -> u64 {
        self.first
    }

    /// Whether the tape is in use.
    pub(super) fn has_opened_tape(&self) -> bool {
        self.tape_opened.initialized()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.progress().settled
    }

    pub(super) fn mark_settled(&self) {
        self.progress().settled = true;
    }
}

/// A call as a tape has it.
fn recorded(call: &ToolCall) -> String {
    let function = serde_json::json!({ "arguments": call.arguments, "name": model_name(&call.name) });
    serde_json::json!({ "id": call.id, "function": function, "type": "function" }).to_string()
}
