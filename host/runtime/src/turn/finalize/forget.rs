//! The forgetting of entries on the owner's request while the turn runs.

use crate::turn::Turn;
use bub_tape::{Draft, Entry, Tape, Words};
use bub_types::hook::Hook;

/// Names of tapes that are asked for at once.
const NAMES: usize = 256;

/// The number of entries and tapes that were forgotten, or would be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgot {
    pub entries: u64,
    pub tapes: u64,
}

impl Turn {
    /// Has entries forgotten in which one of the texts stands: on that tape, or on the tapes of all sessions of the workspace.
    /// The entries that this turn and those around it write with such a text are forgotten when they end.
    ///
    /// # Errors
    ///
    /// A tape cannot be read, or what is to be kept of it not be written.
    pub async fn forget(&self, tape: &Tape, everywhere: bool, texts: &[String], dry: bool) -> bub_tape::Result<Forgot> {
        let words = Words::new(texts.iter().map(String::as_str));
        let derived: Vec<String> =
            self.scope.plugins.exporting(Hook::Selector).map(|plugin| plugin.name.clone()).collect();
        if !dry {
            // A summary that is being made of an earlier turn would be written behind this, and hold the text.
            self.scope.host.post_turn_tasks.wait_for_begun().await;
        }
        let mut forgot = Forgot::default();
        let mut add = |entries: u64| {
            forgot.entries += entries;
            forgot.tapes += u64::from(entries > 0);
        };
        add(tape.forget(&words, &derived, dry).await?);
        if everywhere {
            let own = self.tape().await?;
            if own.name() != tape.name() {
                add(own.forget(&words, &derived, dry).await?);
            }
            for name in self.tapes_of_workspace().await? {
                if name != own.name() && name != tape.name() {
                    let other = self.scope.host.tapes_of(&self.scope).open(&name)?;
                    add(other.forget(&words, &derived, dry).await?);
                }
            }
        }
        if !dry {
            for turn in std::iter::once(self).chain(self.ancestors().map(|turn| &**turn)) {
                turn.forgets.lock().extend_from_slice(texts);
                turn.changed();
            }
        }
        Ok(forgot)
    }

    /// The texts that were forgotten in this turn; none: there are none.
    fn forgets(&self) -> Option<Words> {
        let texts = self.forgets.lock().clone();
        let words = Words::new(texts.iter().map(String::as_str));
        (!words.is_empty()).then_some(words)
    }

    /// The turn is about to end: what it says of what it has had forgotten goes too.
    pub(super) async fn forget_own(&self) -> bub_tape::Result<()> {
        let Some(words) = self.forgets() else { return Ok(()) };
        // With the sidecars that it has written, by this plugin or that.
        self.tape.forget(&words, &[], false).await.map(drop)
    }

    /// Forgets with the rest the entries that a plugin has written past the turn's own tape.
    pub async fn forget_written(&self, tape: &Tape, drafts: &[Draft]) -> bub_tape::Result<()> {
        let Some(words) = self.forgets().filter(|_| !self.owns(tape)) else { return Ok(()) };
        let written: Vec<Entry> = drafts.iter().map(|draft| draft.clone().numbered(0)).collect();
        let is_zone = |entry: &&Entry| entry.section_name().is_some();
        tape.forget_entries(written.iter().filter(|entry| words.stand_in(entry) && !is_zone(entry))).await
    }

    /// The names of the tapes of all sessions of the workspace.
    async fn tapes_of_workspace(&self) -> bub_tape::Result<Vec<String>> {
        let tapes = self.scope.host.tapes_of(&self.scope);
        let workspace = bub_tape::workspace_tape_name(&self.workspace);
        let half = workspace.split_once("__").map_or(workspace.as_str(), |(half, _)| half);
        let mut names: Vec<String> = Vec::new();
        // In order: nothing in front of the first can be one of them, and nothing behind the last.
        let mut after = half.to_owned();
        loop {
            let page = tapes.store().list(Some(&after), NAMES).await?;
            let Some(last) = page.last() else { return Ok(names) };
            after.clone_from(last);
            let is_behind = !after.starts_with(half);
            names.extend(page.into_iter().filter(|name| name.starts_with(half)));
            if is_behind {
                return Ok(names);
            }
        }
    }
}
