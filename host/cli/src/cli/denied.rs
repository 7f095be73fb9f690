//! Tool calls that were not made because nobody could be asked about them, for whoever reads stderr.

use super::question::act;
use bub_permissions::policy::ApprovalMode;
use bub_runtime::channel::ApprovalRequest;
use bub_types::text::one_line;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::Arc;

/// Calls that are told apart. A model may try again and again.
const MAX_CALLS: usize = 20;

/// The exit code of a turn that went well, but for such calls.
pub(super) const EXIT_CODE: u8 = 3;

/// The calls of one turn that were not made.
#[derive(Clone, Default)]
pub(super) struct DeniedCalls(Arc<Mutex<DeniedSet>>);

#[derive(Default)]
struct DeniedSet {
    seen: Vec<ApprovalRequest>,
    more: usize,
}

impl DeniedCalls {
    /// One more.
    pub(super) fn add(&self, question: &ApprovalRequest) {
        let mut calls = self.0.lock();
        let is_same = |seen: &ApprovalRequest| seen.tool == question.tool && seen.arguments == question.arguments;
        match calls.seen.len() {
            _ if calls.seen.iter().any(is_same) => {}
            MAX_CALLS.. => calls.more += 1,
            _ => calls.seen.push(question.clone()),
        }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().seen.is_empty()
    }

    /// Says what was not done, a call a line, and then how to allow it.
    ///
    /// # Errors
    ///
    /// Nobody reads it.
    pub(super) fn tell(&self, out: &mut impl Write, mode: ApprovalMode) -> io::Result<()> {
        let calls = std::mem::take(&mut *self.0.lock());
        for question in &calls.seen {
            writeln!(out, "denied: {}: {}", one_line(&act(question, true)), one_line(&question.why))?;
        }
        if calls.more > 0 {
            writeln!(out, "denied: {} more calls", calls.more)?;
        }
        if !calls.seen.is_empty() {
            writeln!(out, "to allow it: {}", remedy(&calls.seen, mode))?;
        }
        Ok(())
    }

    /// The same for programs.
    pub(super) fn json(&self) -> Vec<Value> {
        let calls = self.0.lock();
        let denied = |question: &ApprovalRequest| {
            json!({
                "tool": question.tool,
                "arguments": question.arguments,
                "effect": question.effect,
                "why": question.why,
            })
        };
        calls.seen.iter().map(denied).collect()
    }
}

fn remedy(calls: &[ApprovalRequest], mode: ApprovalMode) -> String {
    if mode == ApprovalMode::ReadOnly {
        return "start without `--approve read-only` (or `approve` of `[policy]` in config.toml)".to_owned();
    }
    let mut effects: Vec<&str> = calls.iter().map(|question| question.effect).collect();
    effects.sort_unstable();
    effects.dedup();
    let trust = match calls.iter().all(|question| question.ends_with_trust) {
        true => "`bub-wasm trust`, if the files of this workspace are as good as your own word, or ",
        false => "",
    };
    format!("{trust}`bub-wasm run --allow {}`, or answer in `bub-wasm chat`", effects.join(","))
}
