//! What a trial has shown, and what the plugin's author can do about it.

use super::Counts;
use super::sandbox::Sandbox;
use crate::error::Failure;
use crate::plugin::{FaultKind, Plugin, one_line};
use crate::tape::{json, tape_name};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// Something to tell.
pub(super) struct Finding {
    /// Which hook, and in which sample.
    pub(super) place: String,
    pub(super) what: String,
    pub(super) fix: String,
    is_broken: bool,
}

/// All of it, each once.
#[derive(Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    /// Faults that were told already, by hook.
    seen: BTreeMap<&'static str, u64>,
    told: BTreeSet<String>,
    /// How far the tapes were read.
    read: BTreeMap<String, u64>,
}

impl Findings {
    pub(super) fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.all.iter().filter(|finding| finding.is_broken)
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = &Finding> {
        self.all.iter().filter(|finding| !finding.is_broken)
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken().next().is_some()
    }

    fn push(&mut self, is_broken: bool, place: String, what: String, fix: &str) {
        let (what, fix) = (one_line(&what), fix.to_owned());
        if self.told.insert(what.clone()) {
            self.all.push(Finding { place, what, fix, is_broken });
        }
    }

    /// What can be seen without running anything.
    pub(super) fn read(&mut self, plugin: &Plugin) {
        for hook in plugin.hooks.iter().filter(|hook| !super::is_wanted(plugin, hook)) {
            self.push(
                false,
                format!("hook `{hook}`"),
                format!("it is exported, and the manifest does not want `{}`", crate::grants::hook_grant(hook)),
                "nobody can grant it, so it is never asked: add it to `wants`, or do not export it",
            );
        }
        for want in plugin.manifest.wants.iter().filter(|want| want.why.trim().is_empty()) {
            let fix = "people decide by it: say in `why` what it is for";
            self.push(false, "manifest".to_owned(), format!("it wants `{}` and does not say why", want.grant), fix);
        }
        let silent = plugin.tools.iter().filter(|tool| tool.description.trim().is_empty());
        for tool in silent {
            let fix = "a model chooses tools by their descriptions: write one";
            self.push(false, "tools".to_owned(), format!("`{}` has no description", tool.name), fix);
        }
    }

    /// What has broken since it was asked last.
    pub(super) fn after(&mut self, sample: &str, plugin: &Plugin, counts: &Counts, failure: Option<Failure>) {
        for (hook, count) in counts {
            let before = self.seen.insert(hook, count.faults).unwrap_or_default();
            if let Some(fault) = count.fault.as_ref().filter(|_| count.faults > before) {
                self.push(true, format!("hook `{hook}`, {sample}"), fault.to_string(), fix(fault));
            }
        }
        if let Some(Failure::Hook { hook, plugin: by, error }) = failure
            && by == plugin.name
        {
            self.push(
                false,
                format!("hook `{hook}`, {sample}"),
                format!("it answers with an error of kind {}: {}", error.kind.name(), error.message),
                "that ends the turn: answer `none` where the plugin has nothing to say",
            );
        }
    }

    /// What the tape of a session says of the plugin since it was read last.
    ///
    /// # Errors
    ///
    /// The tape cannot be read.
    pub(super) async fn on_tape(&mut self, sample: &str, plugin: &Plugin, sandbox: &Sandbox, session: &str) -> Result<()> {
        let name = tape_name(&sandbox.host.workspace, session);
        let tape = sandbox.host.tapes().open(&name)?;
        let after = self.read.get(session).copied().unwrap_or_default();
        for entry in tape.read(after, usize::MAX).await? {
            self.read.insert(session.to_owned(), entry.id);
            let data = json::get(&entry.payload, "data");
            let text = |key: &str| data.and_then(|data| json::get(data, key)).and_then(json::string);
            match json::get(&entry.payload, "name").and_then(json::string).as_deref() {
                Some("plugin.denied") if text("plugin").as_deref() == Some(&plugin.name) => {
                    let grant = text("grant").unwrap_or_default();
                    let fix = match plugin.wants.as_ref().is_none_or(|wants| wants.allow(&grant)) {
                        true => "a trial gives nothing that reaches outside: --grant gives it",
                        false => "the manifest does not want it, so nobody can give it: add it to `wants`",
                    };
                    self.push(false, sample.to_owned(), format!("it was refused `{grant}`"), fix);
                }
                Some("plugin.error") => {
                    let message = text("message").unwrap_or_default();
                    if message.contains(&format!("plugin `{}`", plugin.name)) {
                        let fix = "the turn went on without it";
                        self.push(false, sample.to_owned(), message, fix);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What the author can do.
fn fix(fault: &FaultKind) -> &'static str {
    match fault {
        FaultKind::Trap(_) => "answer with an `error` where the guest traps: an index, a division, an `unreachable`",
        FaultKind::Panic(_) => "answer with an `error` where it panics",
        FaultKind::OutOfFuel(_) => {
            "do less in one call, or ask for `fuel` in `[plugins.NAME.limits]` and say so in the README"
        }
        FaultKind::OutOfMemory(_) => {
            "hold less at once, or ask for `memory_mib` in `[plugins.NAME.limits]` and say so in the README"
        }
        FaultKind::Deadline(_) => {
            "end sooner: ask `turn.cancelled`, and wait for nothing that may not come; `deadline_ms` is the bound"
        }
        FaultKind::StackOverflow => "bound the recursion, or make a loop of it",
        FaultKind::TooMuchOutput(_) => "hand over less at once, in several calls or by reference",
        FaultKind::TooMuchKept(_) => "write and emit less in one turn",
        FaultKind::TooManyCalls(_) => "ask the host for pages instead of single entries; `calls` is the bound",
        FaultKind::TooManyHandles(_) => "drop what the host has lent once it was used",
        FaultKind::Contract(_) => "answer as the comment on that function in wit/ says",
        FaultKind::Held(_) => "mend what broke before",
    }
}
