//! Reports tool calls that were denied because no person could be asked, on stderr.

use super::question::act;
use bub_permissions::policy::ApprovalMode;
use bub_runtime::channel::ApprovalRequest;
use bub_types::text::one_line;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::Arc;

/// Distinct calls that are kept; a model may retry any number of times.
const MAX_CALLS: usize = 20;

/// The exit code of a turn that succeeded except for such calls.
pub(super) const EXIT_CODE: u8 = 3;

/// The denied calls of one turn.
#[derive(Clone, Default)]
pub(super) struct DeniedCalls(Arc<Mutex<DeniedSet>>);

#[derive(Default)]
struct DeniedSet {
    seen: Vec<ApprovalRequest>,
    more: usize,
}

impl DeniedCalls {
    /// Adds a call.
    pub(super) fn add(&self, question: &ApprovalRequest) {
        let mut calls = self.0.lock();
        let is_same = |seen: &ApprovalRequest| seen.tool == question.tool && seen.arguments == question.arguments;
        match calls.seen.len() {
            _ if calls.seen.iter().any(is_same) => {}
            MAX_CALLS.. => calls.more += 1,
            _ => calls.seen.push(question.clone()),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().seen.is_empty()
    }

    /// Prints the calls, one per line, and how to allow them.
    ///
    /// # Errors
    ///
    /// The output is closed.
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

    /// The calls as JSON.
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
