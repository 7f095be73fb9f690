//! Taints a turn, and takes over the taint of earlier turns of its conversation.

use super::data::Turn;
use super::taint::{ENTRY, TAINTED, TaintOrigin, TaintSource};
use crate::host::Host;
use bub_config::Config;
use bub_tape::{Draft, Entry, Lookup, Tape, json, tape_name};
use bub_types::{MessageKind, Principal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// In the meta of an entry: text from outside may be in it. A turn that reads the entry is tainted.
pub(crate) const TAINTED_MARK: &str = "tainted";

/// Events that are looked through for one whose sources still taint.
const MAX_LOOKED_AT: usize = 64;

/// How deep a call is that the model hook itself makes: what a person typed, when the turn is a command.
const TYPED: u32 = 1;

impl Turn {
    /// Taints the turn: from here on text of another author is in its context.
    pub fn taint(&self, source: TaintSource, why: impl FnOnce() -> String) {
        self.taint_from(source, TaintOrigin::default(), why);
    }

    /// The same, with the place of the text on the tape.
    pub fn taint_from(&self, source: TaintSource, origin: TaintOrigin, why: impl FnOnce() -> String) {
        self.audit(|audit| audit.taint.add(source, origin, why));
    }

    /// Taints this turn with the sources that taint that turn.
    pub(super) fn share_taint_of(&self, other: &Self) {
        let (sources, origins) = other.audit(|audit| (audit.taint.sources.clone(), audit.taint.origins.clone()));
        for ((source, why), origin) in sources.into_iter().zip(origins) {
            self.taint_from(source, origin, || why);
        }
    }

    /// Whether text that this taints adds nothing to what taints the turn: it comes from a workspace that taints the turn too,
    /// or that the user trusts, or it stands in the phase that the turn goes on with, and taints it for that.
    pub fn is_tainted_by(&self, source: &str, is_of_phase: bool) -> bool {
        let source = TaintSource::parse(source.to_owned());
        let is_known = self.audit(|audit| audit.taint.sources.iter().any(|(known, _)| *known == source));
        match &source {
            TaintSource::Workspace(path) => is_known || self.scope.host.config.trusts(Path::new(path)),
            TaintSource::Outside(what) if what == ENTRY => is_known,
            TaintSource::Outside(_) => is_of_phase && self.tainted().is_some(),
        }
    }

    /// Whether that source taints nothing any more: a workspace that the user trusts.
    pub fn has_trusted(&self, source: &str) -> bool {
        match TaintSource::parse(source.to_owned()) {
            TaintSource::Workspace(path) => self.scope.host.config.trusts(Path::new(&path)),
            TaintSource::Outside(_) => false,
        }
    }

    /// Why the turn is tainted, if it is.
    pub fn tainted(&self) -> Option<String> {
        self.audit(|audit| audit.taint.sources.first().map(|(_, why)| why.clone()))
    }

    /// Whether the turn is tainted by the files of workspaces and by nothing else.
    pub fn is_tainted_by_workspace_alone(&self) -> bool {
        let is_workspace = |(source, _): &(TaintSource, String)| matches!(source, TaintSource::Workspace(_));
        self.audit(|audit| !audit.taint.sources.is_empty() && audit.taint.sources.iter().all(is_workspace))
    }

    /// Whether a call at that depth is one that a person typed as a command.
    pub fn is_typed(&self, depth: u32) -> bool {
        self.message.kind == MessageKind::Command && depth == TYPED
    }

    /// Whether the owner typed the turn as a command: that is the owner's own word, and no part of the conversation.
    fn is_owners_command(&self) -> bool {
        self.message.kind == MessageKind::Command && self.principal == Principal::Owner
    }

    /// Puts on the tape that the turn is tainted, and by what, unless it says so already.
    pub async fn write_taint(&self) -> bub_tape::Result<()> {
        if self.is_owners_command() || self.is_settled() {
            return Ok(());
        }
        // Taint that an earlier turn left is recorded, too.
        self.tape().await?;
        let unwritten = self.audit(|audit| {
            let taint = &audit.taint;
            (taint.written < taint.sources.len()).then(|| (taint.event(), taint.sources.len()))
        });
        if let Some((Some(event), count)) = unwritten {
            self.append_event(TAINTED, &event).await?;
            self.audit(|audit| audit.taint.written = count);
        }
        Ok(())
    }

    /// The tape is not what it was when its taint was written: a fork of it was merged, or it was emptied. It is to be
    /// written again.
    pub fn forget_written_taint(&self, is_emptied: bool) {
        self.audit(|audit| audit.taint.written = 0);
        if is_emptied {
            self.tainted_before.store(0, Ordering::Relaxed);
        }
    }

    /// The entry that follows a new anchor in a tainted turn: the state may contain text of another author. `is_clean`: the
    /// owner typed the anchor's state, by a call that has read nothing.
    pub fn carried_taint(&self, is_clean: bool) -> bub_tape::Result<Option<Draft>> {
        if is_clean && self.principal == Principal::Owner {
            return Ok(None);
        }
        let event = self.audit(|audit| audit.taint.event());
        event.map(|event| bub_tape::event(TAINTED, &event.to_string())?.with_meta("context", "false")).transpose()
    }

    /// Takes over what earlier turns of the conversation have left.
    pub(super) async fn inherit_taint(&self) -> bub_tape::Result<()> {
        let anchor = self.tape.last_anchor(None, None).await?.map_or(0, |anchor| anchor.id);
        let mut before = None;
        for looked_at in 1..=MAX_LOOKED_AT {
            let Some(event) = self.tape.newest_before(&Lookup::event(TAINTED), before).await? else { break };
            let lasting = self.lasting(&event);
            if lasting.is_empty() && looked_at < MAX_LOOKED_AT {
                before = Some(event.id);
                continue;
            }
            if event.id < anchor {
                self.tainted_before.store(self.end_of_phase(event.id, anchor).await?, Ordering::Relaxed);
                break;
            }
            for source in lasting {
                let (why, origin) = (source.earlier(), origin_of(&event, &source));
                self.taint_from(source, origin, || why);
            }
            break;
        }
        Ok(())
    }

    /// Where the phase ends that holds the entry of that id, or a later place: looked for backwards from `anchor`.
    async fn end_of_phase(&self, id: u64, anchor: u64) -> bub_tape::Result<u64> {
        let mut end = anchor;
        for _ in 0..MAX_LOOKED_AT {
            match self.tape.last_anchor(None, Some(end)).await? {
                Some(earlier) if earlier.id > id => end = earlier.id,
                _ => break,
            }
        }
        Ok(end)
    }

    /// The sources of such an event that still taint.
    fn lasting(&self, event: &Entry) -> Vec<TaintSource> {
        lasting(&self.scope.host.config, event)
    }

    /// Something of the turn's own tape is read: what stands in a phase that was tainted taints, though the phases behind it
    /// are clean.
    pub fn reads(&self, tape: &Tape, entries: &[Entry]) {
        let bound = self.tainted_before.load(Ordering::Relaxed);
        if bound == 0 || tape.name() != self.tape.name() || self.message.kind == MessageKind::Command {
            return;
        }
        let says = |entry: &Entry| matches!(&*entry.kind, "message" | "tool_call" | "tool_result" | "anchor");
        // Zones say for themselves whether they are tainted.
        let tainted = entries.iter().find(|entry| entry.id < bound && says(entry) && !entry.is_section_anchor());
        if let Some(entry) = tainted {
            self.taint_from(TaintSource::outside("earlier"), TaintOrigin::entry(entry.id), || {
                format!("entry {} of an earlier part of this conversation holds text from outside", entry.id)
            });
        }
    }

    /// Whether that is the tape of the turn, or a fork of it.
    pub fn is_tape(&self, tape: &Tape) -> bool {
        tape.name() == self.tape.name()
    }

    /// An entry that is marked as tainted taints the turn that reads it, except a command that the owner typed, which is no
    /// part of the conversation.
    pub(crate) fn taint_by_entry(&self, entry: &Entry) {
        if self.message.kind != MessageKind::Command && json::get(&entry.meta, TAINTED_MARK) == Some("true") {
            self.taint_from(TaintSource::outside(ENTRY), TaintOrigin::entry(entry.id), || {
                format!("entry {} of a tape is in the conversation, and holds text from outside", entry.id)
            });
        }
    }
}

/// Why the next turn of a session would begin tainted by what earlier ones have read; none while its conversation is clean.
///
/// # Errors
///
/// The tape cannot be read.
pub async fn session_taint(host: &Arc<Host>, session: &str) -> bub_tape::Result<Option<String>> {
    let tape = host.tapes().open(&tape_name(&host.workspace, session))?;
    let anchor = tape.last_anchor(None, None).await?.map_or(0, |anchor| anchor.id);
    let mut before = None;
    for _ in 0..MAX_LOOKED_AT {
        let Some(event) = tape.newest_before(&Lookup::event(TAINTED), before).await? else { return Ok(None) };
        if event.id < anchor {
            return Ok(None);
        }
        if let Some(source) = lasting(&host.config, &event).first() {
            return Ok(Some(source.earlier()));
        }
        before = Some(event.id);
    }
    Ok(Some(TaintSource::outside("earlier").earlier()))
}

/// Where that source of such an event is on the tape; where it does not say so, the event itself.
fn origin_of(event: &Entry, source: &TaintSource) -> TaintOrigin {
    let data = json::get(&event.payload, "data").and_then(|data| serde_json::from_str::<serde_json::Value>(data).ok());
    let data = data.unwrap_or_default();
    let mut sources = data["sources"].as_array().into_iter().flatten();
    let place = sources.position(|known| *known == source.written());
    let origin = place.map(|place| TaintOrigin::parse(&data["origins"][place])).unwrap_or_default();
    if origin == TaintOrigin::default() { TaintOrigin::entry(event.id) } else { origin }
}

/// The sources of such an event that still taint. One without sources was written by an earlier version.
fn lasting(config: &Config, event: &Entry) -> Vec<TaintSource> {
    let sources = json::get(&event.payload, "data").and_then(|data| json::get(data, "sources"));
    let sources = sources.and_then(|sources| json::elements(sources).ok()).unwrap_or_default();
    let sources: Vec<String> = sources.into_iter().filter_map(json::string).collect();
    if sources.is_empty() {
        return vec![TaintSource::outside("earlier")];
    }
    let lasts = |source: &TaintSource| match source {
        TaintSource::Workspace(path) => !config.trusts(Path::new(path)),
        TaintSource::Outside(_) => true,
    };
    sources.into_iter().map(TaintSource::parse).filter(lasts).collect()
}
