//! The handle of a turn: its journal, and the lease of its session.

use std::sync::Arc;

use super::Tape;
use crate::draft::Draft;
use crate::error::Result;
use crate::journal::Journal;

impl Tape {
    /// Records the user's message in a turn's journal, so that a crash does not lose it. Does nothing without a
    /// journal.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the journal cannot be written.
    pub fn keep_prompt(&self, text: &str) -> Result<()> {
        self.journal().map_or(Ok(()), |journal| journal.prompt(text))
    }

    /// Records that a tool with an irrevocable effect begins: the model's call, also in a turn's journal if there is
    /// one. After an interruption the call is not repeated, and the model is informed.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the journal cannot be written: the tool must not run.
    pub async fn keep_tool(&self, call: &str) -> Result<()> {
        let Some(fork) = &self.fork else {
            return Ok(());
        };
        if let Some(journal) = fork.journal() {
            journal.tool(call)?;
            journal.settle().await?;
        }
        fork.begin_tool(call);
        Ok(())
    }

    /// Removes what [`Self::keep_tool`] recorded if no entry records the result: a tool called by a person's command is
    /// not part of the conversation.
    pub fn end_tool(&self, call: &str) {
        if let Some(fork) = &self.fork {
            fork.end_tool(call);
        }
    }

    /// Entries that close interrupted calls in this fork, as a recovery would write them: for each tool that began, a
    /// result that says that it may or may not have run.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) if a call cannot be stored on a tape.
    pub fn interrupted_calls(&self) -> Result<Vec<Draft>> {
        self.fork.as_ref().map_or_else(|| Ok(Vec::new()), |fork| fork.interrupted_calls())
    }

    fn journal(&self) -> Option<&Arc<Journal>> {
        self.fork.as_ref().and_then(|fork| fork.journal())
    }

    /// Ends a turn: the fork accepts no more writes, and the session's next turn may begin. Entries that were not
    /// merged stay in the journal.
    pub fn close(&self) {
        if let Some(fork) = &self.fork {
            fork.close();
        }
    }

    /// Ends when another process may have claimed the lease of the turn that writes to this tape. Without a turn, or a
    /// lease that can be lost, never.
    pub async fn lease_lost(&self) {
        match self.journal() {
            Some(journal) => journal.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Rejects what must not happen after that.
    ///
    /// # Errors
    ///
    /// [`Error::LeaseLost`](crate::Error::LeaseLost).
    pub fn check_lease(&self) -> Result<()> {
        self.journal().map_or(Ok(()), |journal| journal.check())
    }
}
