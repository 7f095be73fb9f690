//! Instruction pinning: repeats the goal at the end, after long tool results.
//!
//! The goal belongs to the thread. A message that states a task is the goal; one that only goes on ("continue", "yes",
//! "继续") does not change it, and neither do the agent loop's own prompts. It ends with the next task, with a closing
//! word ("thanks", "stop", "谢谢"), with `,context done`, and with a handoff; an automatic handoff, which begins a phase
//! in the middle of the work, stores it in its state.

use crate::Error;
use crate::build::Request;
use crate::source::{self, QUERY_TIMEOUT, Source};
use crate::thread::{self, Exchange, Unit};
use crate::window::{CONTINUE, Window};
use bub_estimate::{Intent, intent, spoken};
use bub_guest::tape::{Query, Start};
use serde_json::Value;

/// Maximum characters of the repeated goal.
const GOAL: usize = 200;

/// Messages beyond the window that are searched for a goal.
const LOOKED_AT: u32 = 256;

/// The event that marks the task as done.
pub const DONE: &str = "context.goal";

/// The goal, and the user's current message if it differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    pub text: String,
    pub latest: Option<String>,
}

impl Goal {
    /// The repeated text.
    pub fn shown(&self) -> String {
        let (goal, dots) = beginning(self.text.trim(), GOAL);
        format!("{goal}{dots}")
    }
}

fn beginning(text: &str, most: usize) -> (&str, &str) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], "..."),
        None => (text, ""),
    }
}

/// Where to search for a goal.
pub struct Asked<'a> {
    pub source: &'a dyn Source,
    pub window: &'a Window,
    pub request: &'a Request,
    /// The phase's anchor.
    pub anchor: Option<&'a str>,
    /// Its id, or that of the first entry.
    pub phase: u64,
}

/// The result of a search.
enum Found {
    Goal(String),
    Ended,
    Nothing,
}

impl Asked<'_> {
    /// The goal; `None` without a task.
    pub fn goal(&self) -> Result<Option<Goal>, Error> {
        let began = self.request.began;
        let mut own: Vec<String> = self.window.own_input(began).into_iter().map(|(_, text)| text.to_owned()).collect();
        let said = self.request.said.iter().map(|message| thread::words(&message["content"]));
        own.extend(said.filter(|text| !text.starts_with(CONTINUE)));
        if own.is_empty() {
            own.extend(self.begun()?);
        }
        if own.iter().all(|text| text.is_empty()) && self.request.said.is_empty() {
            return Ok(None);
        }
        let latest = own.last().map(|latest| spoken(latest).words.trim().to_owned()).filter(|words| !words.is_empty());
        // The first task of a turn is its goal: later messages add to it.
        match first_task(own.iter().map(|text| spoken(text).words)) {
            Found::Goal(text) => return Ok(Some(Goal { text, latest: None })),
            Found::Ended => return Ok(None),
            Found::Nothing => {}
        }
        // In a group, each person continues their own task: one person's words must not become another's order.
        let sender = own.first().and_then(|text| spoken(text).sender);
        let done = source::newest_id(self.source, DONE)?.unwrap_or_default();
        let text = match self.earlier(done, sender) {
            Found::Goal(text) => Some(text),
            Found::Ended => None,
            Found::Nothing => match self.beyond(done, sender)? {
                Found::Goal(text) => Some(text),
                Found::Ended => None,
                Found::Nothing => self.carried(sender).filter(|_| done <= self.phase),
            },
        };
        Ok(text.map(|text| Goal { text, latest }))
    }

    /// The prompt of the turn: after an anchor of the turn itself, no visible message contains it.
    fn begun(&self) -> Result<Option<String>, Error> {
        if !self.request.prompt.starts_with(CONTINUE) {
            return Ok(Some(self.request.prompt.clone()));
        }
        let start = Query { name: Some("loop.start".to_owned()), ..source::events(Start::AfterId(self.request.began)) };
        let found = self.source.query(None, &start, 1, QUERY_TIMEOUT)?;
        Ok(found.first().and_then(source::data).and_then(|data| data["prompt"].as_str().map(str::to_owned)))
    }

    /// Earlier turns of the window, newest first.
    fn earlier(&self, done: u64, sender: Option<&str>) -> Found {
        for exchange in self.window.exchanges.iter().rev() {
            let asked = exchange.units.iter().filter_map(|unit| match unit {
                Unit::Message { id, asked: Some(text), .. }
                    if *id <= self.request.began
                        && *id > done
                        && !text.starts_with(CONTINUE)
                        && spoken(text).sender == sender =>
                {
                    Some(spoken(text).words)
                }
                _ => None,
            });
            match first_task(asked) {
                Found::Nothing => {}
                found => return found,
            }
        }
        Found::Nothing
    }

    /// The same beyond the window, in this phase: earlier phases may contain what this conversation must not see.
    fn beyond(&self, done: u64, sender: Option<&str>) -> Result<Found, Error> {
        let first = self.window.exchanges.first().and_then(|exchange| exchange.units.first()).map(Unit::id);
        let messages = Query {
            kinds: vec!["message".to_owned()],
            newest_first: true,
            limit: Some(LOOKED_AT),
            ..source::events(Start::AfterId(self.phase.max(done).saturating_sub(1)))
        };
        for entry in self.source.query(None, &messages, LOOKED_AT, QUERY_TIMEOUT)? {
            let payload: Value = serde_json::from_str(&entry.payload).unwrap_or_default();
            let text = thread::words(&payload["content"]);
            let is_earlier = entry.id <= self.request.began && first.is_none_or(|first| entry.id < first);
            let is_other = payload["role"] != "user" || spoken(&text).sender != sender;
            if !is_earlier || is_other || text.starts_with(CONTINUE) {
                continue;
            }
            match first_task(std::iter::once(spoken(&text).words)) {
                Found::Nothing => {}
                found => return Ok(found),
            }
        }
        Ok(Found::Nothing)
    }

    /// The goal in the state of an automatic handoff.
    fn carried(&self, sender: Option<&str>) -> Option<String> {
        let payload: Value = serde_json::from_str(self.anchor?).ok()?;
        let is_automatic = payload["name"].as_str()?.starts_with("auto_handoff/");
        let goal = &payload["state"]["goal"];
        let text = goal["text"].as_str().filter(|text| !text.trim().is_empty());
        text.filter(|_| is_automatic && goal["sender"].as_str() == sender).map(str::to_owned)
    }
}

/// The first message that states a task; `End` if an ending comes before any task.
fn first_task<'a>(said: impl Iterator<Item = &'a str>) -> Found {
    let mut found = Found::Nothing;
    for text in said {
        // A command is for the program.
        if text.trim_start().starts_with(',') {
            continue;
        }
        match intent(text) {
            Intent::Task => return Found::Goal(text.to_owned()),
            Intent::End => found = Found::Ended,
            Intent::Continue => {}
        }
    }
    found
}

/// The progress of a turn: its tool calls.
#[derive(Debug, Default, PartialEq)]
pub struct ActiveTask {
    /// Names of the called tools, in order.
    calls: Vec<String>,
    failed: usize,
}

impl ActiveTask {
    /// The calls of this turn, after the entry with which it began.
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

    /// One line; empty without calls.
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

/// The instruction for a goal; `None` without one.
pub fn instruction(goal: &Goal, task: &ActiveTask) -> Option<String> {
    if goal.text.trim().is_empty() {
        return None;
    }
    let latest = goal.latest.as_ref().map(|latest| {
        let (latest, dots) = beginning(latest.trim(), GOAL);
        format!("The User's Latest Message: \"{latest}{dots}\"\n")
    });
    let latest = latest.unwrap_or_default();
    let goal = goal.shown();
    let status = task.status();
    let status = if status.is_empty() { status } else { format!("\n\n{status}") };
    Some(format!(
        "[CRITICAL INSTRUCTION]\n\
         User's Current Goal: \"{goal}\"\n\
         {latest}Status: ACTIVE\n\
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
        let pinned = |goal: &str| instruction(&Goal { text: goal.to_owned(), latest: None }, &none);
        assert_eq!(pinned(""), None);
        assert_eq!(pinned(" \n"), None);
        assert!(pinned("twenty characters !!").unwrap().contains("Goal: \"twenty characters !!\"\n"));
        assert!(pinned(&"字".repeat(200)).unwrap().contains(&format!("\"{}\"\n", "字".repeat(200))));
        assert!(pinned(&"🎉".repeat(201)).unwrap().contains(&format!("\"{}...\"\n", "🎉".repeat(200))));
        assert!(pinned("x").unwrap().ends_with("3. Prioritize answering the User's Goal immediately."));
    }

    #[test]
    fn the_status_lists_the_calls_of_this_turn() {
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
        let goal = Goal { text: "go".to_owned(), latest: None };
        assert!(instruction(&goal, &task).unwrap().ends_with("last: web_fetch"));
        assert_eq!(ActiveTask::of(exchanges.last(), 100).status(), "");
        assert_eq!(ActiveTask::of(None, 0).status(), "");
    }
}
