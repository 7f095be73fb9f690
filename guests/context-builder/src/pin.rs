//! Instruction pinning: the goal once more at the end, where results of tools do not wash it away.

use crate::thread::{Exchange, Unit};

/// Characters of the goal that are repeated.
const GOAL: usize = 200;

/// The task of a turn: what its calls of tools have come to.
#[derive(Debug, Default, PartialEq)]
pub struct ActiveTask {
    /// Names of the tools, in the order of the calls.
    calls: Vec<String>,
    failed: usize,
}

impl ActiveTask {
    /// What was called in this turn: behind the entry with which it began.
    pub fn of(exchange: Option<&Exchange>, began: u64) -> Self {
        let mut task = Self::default();
        for unit in exchange.map_or([].as_slice(), |exchange| exchange.units.as_slice()) {
            if let Unit::Calls { id, names, results, .. } = unit
                && *id > began
            {
                task.calls.extend(names.iter().cloned());
                task.failed += results.failed;
            }
        }
        task
    }

    /// In a line; empty while nothing was called.
    pub fn status(&self) -> String {
        let Some(last) = self.calls.last() else { return String::new() };
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for name in &self.calls {
            match counted.iter_mut().find(|(counted, _)| counted == name) {
                Some((_, count)) => *count += 1,
                None => counted.push((name, 1)),
            }
        }
        let named = counted.iter().map(|(name, count)| match count {
            1 => (*name).to_owned(),
            _ => format!("{name} x{count}"),
        });
        let calls = self.calls.len();
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        let noun = if calls == 1 { "call" } else { "calls" };
        let names = named.collect::<Vec<_>>().join(", ");
        format!("Progress: {calls} tool {noun} so far ({names}){failed}; last: {last}")
    }
}

/// The instruction for a goal; none without one.
pub fn instruction(goal: &str, task: &ActiveTask) -> Option<String> {
    if goal.trim().is_empty() {
        return None;
    }
    let (goal, dots) = match goal.char_indices().nth(GOAL) {
        Some((end, _)) => (&goal[..end], "..."),
        None => (goal, ""),
    };
    let status = task.status();
    let status = if status.is_empty() { status } else { format!("\n\n{status}") };
    Some(format!(
        "[CRITICAL INSTRUCTION]\n\
         User's Current Goal: \"{goal}{dots}\"\n\
         Status: ACTIVE\n\
         Guide:\n\
         1. If you have just received tool outputs, briefly ANALYZE them first.\n\
         2. If the goal is complex, form a concise PLAN before executing.\n\
         3. Prioritize answering the User's Goal immediately.{status}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Tape;
    use crate::thread::exchanges;

    #[test]
    fn a_goal_of_200_characters_is_whole_and_one_of_201_is_cut() {
        let none = ActiveTask::default();
        let pinned = |goal: &str| instruction(goal, &none);
        assert_eq!(pinned(""), None);
        assert_eq!(pinned(" \n"), None);
        assert!(pinned("twenty characters !!").unwrap().contains("Goal: \"twenty characters !!\"\n"));
        assert!(pinned(&"字".repeat(200)).unwrap().contains(&format!("\"{}\"\n", "字".repeat(200))));
        assert!(pinned(&"🎉".repeat(201)).unwrap().contains(&format!("\"{}...\"\n", "🎉".repeat(200))));
        assert!(pinned("x").unwrap().ends_with("3. Prioritize answering the User's Goal immediately."));
    }

    #[test]
    fn the_status_says_what_was_called_in_this_turn() {
        let mut tape = Tape::default();
        tape.start().user("go").calls(&["fs_read", "fs_read"]).tool("bash", "{}");
        let failed = serde_json::json!({ "results": [{ "kind": "denied", "message": "no" }] });
        tape.call(&["web_fetch"]).push("tool_result", failed);
        let exchanges = exchanges(&tape.0);
        let task = ActiveTask::of(exchanges.last(), 0);
        assert_eq!(
            task.status(),
            "Progress: 4 tool calls so far (fs_read x2, bash, web_fetch), 1 failed; last: web_fetch"
        );
        assert!(instruction("go", &task).unwrap().ends_with("last: web_fetch"));
        assert_eq!(ActiveTask::of(exchanges.last(), 100).status(), "");
        assert_eq!(ActiveTask::of(None, 0).status(), "");
    }
}
