//! Diagnostics of a trial, and how to fix them.

use super::Counts;
use super::channel::Outcome;
use super::coverage::Coverage;
use super::sandbox::Sandbox;
use anyhow::Result;
use bub_permissions::Grant;
use bub_runtime::error::Failure;
use bub_runtime::plugin::{FaultKind, Plugin};
use bub_tape::{Entry, json};
use bub_types::text::one_line;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A diagnostic.
pub(super) struct Diagnostic {
    /// The hook and the sample.
    pub(super) place: String,
    pub(super) what: String,
    pub(super) fix: String,
    /// The output of the plugin in the call that failed.
    pub(super) output: Option<Arc<str>>,
    is_broken: bool,
}

/// All diagnostics, without duplicates.
#[derive(Default)]
pub(super) struct Diagnostics {
    all: Vec<Diagnostic>,
    /// The report about the channel, as JSON.
    pub(super) channel: Option<Value>,
    /// Faults that were reported, by hook.
    seen: BTreeMap<&'static str, u64>,
    /// Diagnostics that were reported, by hook.
    told: BTreeSet<(String, String)>,
    /// The last entries of the tapes that were read.
    read: BTreeMap<String, u64>,
}

impl Diagnostics {
    pub(super) fn broken(&self) -> impl Iterator<Item = &Diagnostic> {
        self.all.iter().filter(|diagnostic| diagnostic.is_broken)
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = &Diagnostic> {
        self.all.iter().filter(|diagnostic| !diagnostic.is_broken)
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken().next().is_some()
    }

    /// The same diagnostic of the same hook in another sample is a duplicate.
    fn push(&mut self, is_broken: bool, (hook, sample): (&str, Option<&str>), what: &str, fix: &str) {
        let what = one_line(what);
        let hook = if hook.is_empty() { String::new() } else { format!("hook `{hook}`") };
        if self.told.insert((hook.clone(), what.clone())) {
            let place = [Some(hook.as_str()), sample].into_iter().flatten().filter(|part| !part.is_empty());
            let place = one_line(&place.collect::<Vec<_>>().join(", "));
            self.all.push(Diagnostic { place, what, fix: fix.to_owned(), output: None, is_broken });
        }
    }

    /// Adds a fault.
    fn broke(&mut self, hook: &str, sample: &str, fault: &FaultKind, output: Option<&Arc<str>>) {
        let before = self.all.len();
        self.push(true, (hook, Some(sample)), &fault.to_string(), fix(fault));
        if let Some(diagnostic) = self.all.get_mut(before) {
            diagnostic.output = output.cloned();
        }
    }

    fn note(&mut self, place: (&str, Option<&str>), what: &str, fix: &str) {
        self.push(false, place, what, fix);
    }

    /// Adds diagnostics that need no run.
    pub(super) fn read(&mut self, plugin: &Plugin) {
        for hook in plugin.gated().filter(|hook| !plugin.asks_for(&Grant::hook(*hook))) {
            let what = format!("it is exported, but the manifest does not request `{}`", hook.grant());
            let fix = "it cannot be granted, so it is never called: add it to `wants`, or do not export it";
            self.note((hook.name(), None), &what, fix);
        }
        for want in plugin.manifest.wants.iter().filter(|want| want.why.trim().is_empty()) {
            let fix = "users decide by the reason: state it in `why`";
            self.note(("", Some("manifest")), &format!("it requests `{}` without a reason", want.grant), fix);
        }
        for tool in plugin.tools.iter().filter(|tool| tool.description.trim().is_empty()) {
            let fix = "a model chooses tools by their descriptions: write one";
            self.note(("tools", None), &format!("`{}` has no description", tool.name), fix);
        }
    }

    /// Adds the faults since the last sample.
    pub(super) fn after(&mut self, sample: &str, plugin: &Plugin, counts: &Counts, failure: Option<Failure>) {
        for (hook, count) in counts {
            let before = self.seen.insert(hook, count.faults).unwrap_or_default();
            if let Some(fault) = count.fault.as_ref().filter(|_| count.faults > before) {
                self.broke(hook, sample, fault, count.output.as_ref());
            }
        }
        match failure {
            Some(Failure::Hook { hook, plugin: by, error }) if by == plugin.name => {
                let what = format!("it answers with an error of kind {}: {}", error.kind.name(), error.message);
                let fix = "that ends the turn: return `none` if the plugin has no answer";
                self.note((hook.name(), Some(sample)), &what, fix);
            }
            Some(failure @ Failure::Deadline(_)) => {
                let fix = "give each wait a timeout of its own";
                self.push(true, ("", Some(sample)), &failure.to_string(), fix);
            }
            _ => {}
        }
    }

    /// Adds diagnostics of a channel. An error of its own only ends the delivery.
    pub(super) fn of_channel(&mut self, outcome: Outcome) {
        let tried = match outcome {
            Outcome::None => return,
            Outcome::Refused(reason) => {
                // The fault is reported already.
                if !self.is_broken() {
                    self.note(("channel", None), &reason, "use a name that is free");
                }
                return;
            }
            Outcome::Tested(tried) => tried,
        };
        self.channel = Some(tried.told);
        for (sample, why) in tried.refused {
            let fix = "the host rejects this one: follow the comment on `arrival` in wit/";
            self.push(true, ("channel", Some(sample)), &why, fix);
        }
        for (sample, failure) in tried.calls {
            let then = failure.as_ref().and_then(Failure::retry_after).map_or("given up", |_| "tried again later");
            if let Some(Failure::Hook { hook, error, .. }) = failure {
                let what = format!("it answers with an error of kind {}: {}", error.kind.name(), error.message);
                let fix =
                    "nothing, where a trial lacks what it needs (--grant gives it); what is answered like this is ";
                self.note((hook.name(), Some(sample)), &what, &format!("{fix}{then}"));
            }
        }
    }

    /// Adds a command that did not end.
    pub(super) fn goes_on(&mut self, sample: &str) {
        let fix = "nothing if that is intended; otherwise let it end";
        self.note(("run-command", Some(sample)), "it still ran after 5 s, and was ended", fix);
    }

    /// Adds diagnostics from the new entries of the tapes.
    ///
    /// # Errors
    ///
    /// A tape cannot be read.
    pub(super) async fn on_tapes(&mut self, sample: &str, sandbox: &Sandbox, coverage: &mut Coverage) -> Result<()> {
        let tapes = sandbox.host.tapes();
        for name in tapes.store().list(None, usize::MAX).await? {
            let after = self.read.get(&name).copied().unwrap_or_default();
            for entry in tapes.open(&name)?.read(after, usize::MAX).await? {
                self.read.insert(name.clone(), entry.id);
                self.on_tape(sample, &sandbox.plugin, &entry);
                coverage.on_tape(&sandbox.plugin, &entry);
            }
        }
        Ok(())
    }

    fn on_tape(&mut self, sample: &str, plugin: &Plugin, entry: &Entry) {
        let data = json::get(&entry.payload, "data");
        let text = |key: &str| data.and_then(|data| json::get(data, key)).and_then(json::string).unwrap_or_default();
        match json::get(&entry.payload, "name").and_then(json::string).as_deref() {
            Some("plugin.denied") if text("plugin") == plugin.name && text("reason") == "grant" => {
                let grant = text("grant");
                let fix = match (&plugin.wants, grant.parse().is_ok_and(|grant| plugin.asks_for(&grant))) {
                    (None, _) => "it is not requested: give the plugin a manifest, and name the grant in `wants`",
                    (_, true) => "a trial grants nothing outside of its sandbox; --grant does",
                    (_, false) => "the manifest does not request it, so it cannot be granted: add it to `wants`",
                };
                self.note(("", Some(sample)), &format!("it was refused `{grant}`"), fix);
            }
            // An error of the plugin in a hook that ends nothing.
            Some("plugin.error") if text("message").contains(&format!("of plugin `{}`: ", plugin.name)) => {
                self.note((&text("hook"), Some(sample)), &text("message"), "the turn continued without it");
            }
            _ => {}
        }
    }
}

/// How to fix a fault.
pub(super) fn fix(fault: &FaultKind) -> &'static str {
    match fault {
        FaultKind::Trap(_) => "return an `error` where the guest traps: an index, a division, an `unreachable`",
        FaultKind::Panic(_) => "return an `error` where it panics",
        FaultKind::OutOfFuel { .. } => {
            "do less in one call, or ask for `fuel` in `[plugins.NAME.limits]` and say so in the README"
        }
        FaultKind::OutOfMemory(_) => {
            "use less memory at a time, or ask for `memory_mib` in `[plugins.NAME.limits]` and say so in the README"
        }
        FaultKind::Deadline(_) => {
            "return sooner, and give each wait a timeout of its own; `deadline_ms` in `[plugins.NAME.limits]` is the bound"
        }
        FaultKind::StackOverflow => "limit the recursion, or use a loop",
        FaultKind::TooMuchOutput(_) => "pass less at once, in several calls or by reference",
        FaultKind::TooMuchKept(_) | FaultKind::FilledTurn { .. } => "write and emit less in one turn",
        FaultKind::TooManyCalls(_) => "ask the host for pages instead of single entries; `calls` is the bound",
        FaultKind::TooManyHandles(_) => "drop handles of the host once they are used",
        FaultKind::Contract(_) => "follow the comment on that function in wit/",
        FaultKind::NotLoaded(_) => "see `bub-wasm plugin add`, which refuses it with the same reason",
        FaultKind::OpenCircuit(_) => "fix the earlier faults",
    }
}
