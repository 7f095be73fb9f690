//! Messages to a session while a turn of it runs: made prompts by the same hooks as any message, and never lost.

use super::data::Turn;
use super::options::AttributedMessage;
use super::pipeline::build_prompt;
use super::taint::TaintSource;
use crate::error::Failure;
use bub_tape::{Draft, Entry, json};
use bub_types::{Envelope, MessageKind, Principal, Prompt};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Turn {
    /// The messages that were said since this was asked last, as prompts. One that begins with a comma is text like any
    /// other: a command is no part of a conversation that runs already.
    ///
    /// # Errors
    ///
    /// `build-prompt` failed. A message without a prompt waits again, and becomes a turn of its own.
    pub async fn steering(self: &Arc<Self>) -> Result<Vec<Prompt>, Failure> {
        let mut messages = self.options.steering().take().into_iter();
        let mut prompts = Vec::new();
        while let Some(said) = messages.next() {
            match self.prompt_of(said.clone()).await {
                Ok(prompt) => {
                    self.steered.lock().push(prompt.text());
                    prompts.push(prompt);
                }
                Err(failure) => {
                    self.options.steering().put_back(std::iter::once(said).chain(messages));
                    return Err(failure);
                }
            }
        }
        Ok(prompts)
    }

    async fn prompt_of(self: &Arc<Self>, said: AttributedMessage) -> Result<Prompt, Failure> {
        let mut message =
            Envelope { kind: MessageKind::Normal, session_id: Some(self.session_id.clone()), ..said.message };
        message.media.iter_mut().for_each(|item| item.url = self.scope.media.extract_url(&item.url));
        let options = self.options.for_inner().with_identity(said.identity);
        let mut turn =
            Self::with_tape(&self.scope, self.tape.clone(), self.session_id.clone(), message, options).await?;
        turn.deadline = self.deadline;
        turn.replace_state(self.state());
        let turn = Arc::new(turn);
        match turn.principal {
            Principal::Owner => self.record_owner_text(&turn.message.content),
            // Another sender's message in a turn of the owner is text from outside.
            _ => {
                let channel = &turn.message.channel;
                self.taint(TaintSource::outside(format!("channel:{channel}")), || {
                    format!("a message of another sender on channel `{channel}` is in the conversation")
                });
            }
        }
        let prompt = build_prompt(&turn).await?;
        self.record_message_id(&turn.message).await?;
        self.share_taint_of(&turn);
        self.narrow_to(turn.session_prefix());
        Ok(prompt)
    }

    /// Entries for the texts that people said in this turn, as it began and while it ran, and that do not stand among
    /// what the turn has written.
    pub(super) fn unwritten(&self, written: &[Entry]) -> bub_tape::Result<Vec<Draft>> {
        let mut said: Vec<String> = written.iter().filter_map(user_text).collect();
        let mut drafts = Vec::new();
        let steered = self.steered.lock().clone();
        for text in steered {
            match said.iter().position(|said| *said == text) {
                Some(at) => drop(said.remove(at)),
                None => drafts.push(user_message(&text)?),
            }
        }
        // A later step has a prompt of its own, so any message that is left stands for the first, unless a turn inside this
        // one has written it.
        let prompt = self.prompt_text();
        if said.is_empty() || (self.is_shared.load(Ordering::Relaxed) && !said.contains(&prompt)) {
            // It was said before all the others.
            drafts.insert(0, user_message(&prompt)?);
        }
        Ok(drafts)
    }
}

fn user_message(text: &str) -> bub_tape::Result<Draft> {
    Draft::new("message", &format!(r#"{{"role": "user", "content": {}}}"#, json::quote(text)), "{}")
}

/// The text of a user's message.
fn user_text(entry: &Entry) -> Option<String> {
    let role = json::get(&entry.payload, "role").and_then(json::string);
    if !entry.is("message") || role.as_deref() != Some("user") {
        return None;
    }
    let content = json::get(&entry.payload, "content").unwrap_or_default();
    Some(json::string(content).unwrap_or_else(|| Prompt::Parts(content.to_owned()).text()))
}
