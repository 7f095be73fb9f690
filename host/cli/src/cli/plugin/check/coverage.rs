//! The coverage of a trial: a clean report says nothing about functions that no sample called.

use super::Counts;
use super::sandbox::Sandbox;
use bub_permissions::{Grant, GrantKind};
use bub_runtime::imports::grant_risk;
use bub_runtime::plugin::{FaultKind, Plugin, Source};
use bub_tape::{Entry, json};
use bub_types::hook::Hook;
use bub_types::text::one_line;
use std::collections::{BTreeMap, BTreeSet};

/// The import for HTTP requests.
const HTTP: &str = "wasi:http/outgoing-handler";

/// Calls of an export that one sample makes, at most.
const MAX_SAMPLES: usize = 64;

/// Something that was not tested.
pub(super) struct UntestedItem {
    pub(super) what: String,
    pub(super) why: String,
}

#[derive(Default)]
pub(super) struct Coverage {
    /// Calls of each export so far.
    calls: BTreeMap<&'static str, u64>,
    /// The samples that called each export.
    samples: BTreeMap<&'static str, Vec<String>>,
    /// Exports that timed out, and the sample: they are not called again.
    slow: BTreeMap<&'static str, (String, String)>,
    /// Grants that were used.
    used: BTreeSet<Grant>,
    /// Functions that no sample can call.
    left_out: Vec<UntestedItem>,
}

impl Coverage {
    /// Records a sample that makes several calls of each export, one by one.
    pub(super) fn after_each(&mut self, sample: &str, counts: &Counts) {
        for (hook, count) in counts {
            let more = count.calls.saturating_sub(self.calls.get(hook).copied().unwrap_or_default());
            let more = usize::try_from(more).unwrap_or(usize::MAX).saturating_sub(1).min(MAX_SAMPLES);
            self.samples.entry(hook).or_default().extend(std::iter::repeat_n(one_line(sample), more));
        }
        self.samples.retain(|_, samples| !samples.is_empty());
        self.after(sample, counts);
    }

    /// Records the calls since the last sample.
    pub(super) fn after(&mut self, sample: &str, counts: &Counts) {
        for (hook, count) in counts {
            let before = self.calls.insert(hook, count.calls).unwrap_or_default();
            if count.calls > before {
                self.samples.entry(hook).or_default().push(one_line(sample));
            }
            if let (Some(FaultKind::Deadline(limit)), true) = (&count.fault, count.calls > before) {
                let limit = format!("{} ms", limit.as_millis());
                self.slow.entry(hook).or_insert_with(|| (one_line(sample), limit));
            }
        }
    }

    /// The number of samples that called an export.
    pub(super) fn samples(&self, hook: &str) -> usize {
        self.samples.get(hook).map_or(0, Vec::len)
    }

    /// Records an entry on a tape of the trial.
    pub(super) fn on_tape(&mut self, plugin: &Plugin, entry: &Entry) {
        if entry.event_name().as_deref() != Some("plugin.grant") {
            return;
        }
        let data = json::get(&entry.payload, "data");
        let text = |key: &str| data.and_then(|data| json::get(data, key)).and_then(json::string).unwrap_or_default();
        if text("plugin") == plugin.name {
            self.used.extend(text("grant").parse::<Grant>().ok());
        }
    }

    /// Records the call of a tool.
    pub(super) fn of_tool(&mut self, tool: &str, calls: u64, counts: &Counts) {
        let now = counts.get("call-tool").map_or(0, |count| count.calls);
        if now == calls {
            let why = match self.slow.contains_key("call-tool") {
                true => "a call before it took too long",
                false => "the arguments that the trial makes up do not fit its schema, or its call was denied",
            };
            self.leave_out(&format!("its tool `{tool}`"), why);
        }
    }

    /// Records something that no sample can call.
    pub(super) fn leave_out(&mut self, what: &str, why: &str) {
        if !self.left_out.iter().any(|other| other.what == what) {
            self.left_out.push(UntestedItem { what: what.to_owned(), why: why.to_owned() });
        }
    }

    /// The exports that no sample called.
    pub(super) fn not_asked(plugin: &Plugin, counts: &Counts) -> Vec<&'static str> {
        let asked = |hook: Hook| match hook {
            Hook::Tools => plugin.tools.is_empty() || counts.contains_key("call-tool"),
            Hook::Provider => counts.contains_key("complete"),
            Hook::Commands => counts.contains_key("run-command"),
            // Called when the plugin was loaded, or by the samples of its channel.
            Hook::Manifest => true,
            Hook::Channel => {
                ["channel", "describe", "poll", "send", "receive"].iter().any(|call| counts.contains_key(call))
            }
            hook => counts.contains_key(hook.name()),
        };
        // Exports without a grant are reported separately.
        let is_wanted = |hook: &Hook| hook.is_called_by_name() || plugin.asks_for(&Grant::hook(*hook));
        plugin.hooks.iter().copied().filter(is_wanted).filter(|hook| !asked(*hook)).map(Hook::name).collect()
    }

    /// Everything that was not tested, and why.
    pub(super) fn untested(&self, sandbox: &Sandbox, counts: &Counts) -> Vec<UntestedItem> {
        let plugin = &sandbox.plugin;
        let mut untested = Vec::new();
        let mut tell = |what: String, why: String| untested.push(UntestedItem { what: one_line(&what), why });
        for hook in Self::not_asked(plugin, counts) {
            tell(format!("hook `{hook}`"), "no sample calls it".to_owned());
        }
        for (hook, (sample, limit)) in &self.slow {
            let why = format!("it took longer than {limit} in {sample}, and was not called in later samples");
            tell(format!("hook `{hook}`"), why);
        }
        for grant in plugin.wanted().into_iter().filter(|grant| grant.kind() != GrantKind::Hook) {
            let holds = sandbox.host.grants.allows(plugin, &grant);
            // Default grants of embedded guests are not in the manifest.
            if let Some(why) = self.unused(&grant, holds, plugin.source == Source::Embedded) {
                tell(format!("`{}`, which {}", one_line(grant.as_str()), grant_risk::of_grant(&grant)), why.to_owned());
            }
        }
        let sends = plugin.imports().iter().any(|import| import.starts_with(HTTP));
        if plugin.wants.is_none() && sends && !self.used.iter().any(|grant| grant.kind() == GrantKind::Http) {
            let why = "a trial sends none: `--grant http:HOST` allows it, and a manifest names the hosts";
            tell("its requests".to_owned(), why.to_owned());
        }
        let left_out =
            self.left_out.iter().map(|left| UntestedItem { what: one_line(&left.what), why: left.why.clone() });
        untested.extend(left_out);
        untested
    }

    /// Why a grant was not used; `None` if it was.
    fn unused(&self, grant: &Grant, holds: bool, is_quiet: bool) -> Option<&'static str> {
        match (grant.kind(), holds) {
            // In a trial, the grant gives access to nothing.
            (GrantKind::Secret, _) => Some("there are no secrets in a trial"),
            (GrantKind::Http, false) => Some("a trial sends no requests; --grant allows them"),
            (GrantKind::Process, false) => Some("a trial runs no programs; --grant allows them"),
            (GrantKind::Fs, false) => Some("a trial has its workspace and no other directory; --grant allows others"),
            (GrantKind::Model, false) => Some("a trial has the model `offline` alone"),
            (_, false) => Some("a trial does not grant it; --grant does"),
            (_, true) if is_quiet || self.is_used(grant) => None,
            (_, true) => Some("no sample led to its use"),
        }
    }

    fn is_used(&self, grant: &Grant) -> bool {
        // A wider grant is used through a narrower one: `http:*` for one host.
        self.used
            .iter()
            .any(|used| grant.covers(used) || (grant.kind() == GrantKind::Http && used.kind() == GrantKind::Http))
    }

    /// Exports that only one sample called, with that sample: other input may break them.
    pub(super) fn once(&self) -> impl Iterator<Item = (&'static str, &str)> {
        // The description of a channel has no input.
        let once = self.samples.iter().filter(|(hook, samples)| samples.len() == 1 && **hook != "channel");
        once.filter_map(|(hook, samples)| Some((*hook, samples.first()?.as_str())))
    }
}
