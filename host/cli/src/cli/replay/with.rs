//! `replay --with NAME=FILE`: the recorded turns through another version of a plugin.
//!
//! The calls of that plugin are made with the new component, each with what it was given then. Where a result differs, it is
//! carried on: into the calls of other plugins that got it, as far as the recording answers what they ask.

mod carry;

use super::compare::{self, Difference, clipped};
use super::live::{Live, LiveCall};
use super::play::play;
use super::stage::Stages;
use crate::cli::style::Style;
use crate::cli::{diff, text};
use bub_recordings::{CallRecord, Listed, Recording, canonical};
use bub_runtime::plugin::recording::Played;
use bub_types::text::one_line;
use carry::{Carried, pairs};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Lines of a request that are shown.
const MAX_LINES: usize = 40;

/// How often results are carried on in one turn.
const MAX_ROUNDS: usize = 8;

/// What an exchanged plugin would have changed in a turn.
#[derive(Default)]
pub(super) struct Changes {
    /// The calls of the exchanged plugins with another result.
    pub(super) rows: Vec<Difference>,
    /// The calls of other plugins that would have been otherwise, in their order.
    pub(super) follows: Vec<Difference>,
    /// The first thing that was not asked then, with what was asked in its place.
    pub(super) question: Option<Question>,
    /// The model calls that were made now.
    pub(super) live: Vec<LiveCall>,
    /// What could not be made again, and why.
    pub(super) problems: Vec<String>,
}

/// A call of the host that the recording does not answer.
pub(super) struct Question {
    hook: String,
    plugin: String,
    function: String,
    was: Option<Value>,
    is: Value,
}

/// Makes the turns again with the exchanged plugins, and ends the hosts.
pub(super) async fn replay_all<'l>(
    stages: &mut Stages<'_>,
    recordings: &'l [Listed],
    live: Option<&Live>,
) -> Vec<(&'l Listed, Changes)> {
    let mut all = Vec::new();
    for recording in recordings {
        all.push((recording, replay(stages, recording, live).await));
    }
    stages.close().await;
    all
}

/// Makes the calls of the turn again with the exchanged plugins.
async fn replay(stages: &mut Stages<'_>, listed: &Listed, live: Option<&Live>) -> Changes {
    let mut changes = Changes::default();
    let recording = match Recording::read(&listed.file) {
        Ok(recording) => recording,
        Err(problem) => {
            changes.problems.push(problem.to_string());
            return changes;
        }
    };
    changes.problems.extend(recording.problem.as_ref().map(ToString::to_string));
    let begun = live.map_or(0, Live::count);
    let mut turn = Turn { stages, live, changes, carried: Carried::default(), results: BTreeMap::new() };
    turn.exchanged(&recording).await;
    turn.follow(&recording).await;
    let mut changes = turn.changes;
    changes.live = live.map(|live| live.since(begun)).unwrap_or_default();
    stages.end_turn();
    changes
}

/// A turn whose calls are made again.
struct Turn<'s, 'c> {
    stages: &'s mut Stages<'c>,
    live: Option<&'s Live>,
    changes: Changes,
    carried: Carried,
    /// The calls that were made again with other values, and what differed, by their indices.
    results: BTreeMap<usize, Option<Difference>>,
}

impl Turn<'_, '_> {
    /// Makes the calls of the exchanged plugins, with what they were given then.
    async fn exchanged(&mut self, recording: &Recording) {
        for (index, row) in recording.manifest.calls.iter().enumerate() {
            if !self.stages.is_exchanged(&row.plugin) {
                continue;
            }
            match self.made(recording, index, None).await {
                Ok(Some(difference)) => self.changes.rows.push(difference),
                Ok(None) => {}
                Err(reason) => {
                    let (hook, plugin) = (one_line(&row.hook), one_line(&row.plugin));
                    self.changes.problems.push(format!("hook `{hook}` of plugin `{plugin}`: {reason}"));
                }
            }
        }
    }

    /// Carries other results on to the calls that got them, until nothing more changes.
    async fn follow(&mut self, recording: &Recording) {
        let mut known = 0;
        for _ in 0..MAX_ROUNDS {
            if self.carried.len() == known || self.changes.question.is_some() {
                break;
            }
            known = self.carried.len();
            // The instances of this round are not those of the round before.
            self.stages.end_turn();
            for index in 0..recording.manifest.calls.len() {
                let Ok(call) = recording.call(index) else { continue };
                if self.stages.is_exchanged(&call.plugin) {
                    continue;
                }
                let Some(changed) = self.carried.apply(&call) else { continue };
                // A call that cannot be made again cannot be followed.
                if let Ok(difference) = self.made(recording, index, Some(changed)).await {
                    self.results.insert(index, difference);
                }
                if self.changes.question.is_some() {
                    break;
                }
            }
        }
        let results = std::mem::take(&mut self.results);
        self.changes.follows.extend(results.into_values().flatten());
    }

    /// Makes a call, with the changed values if there are any. Returns how its result differs from the recorded one.
    async fn made(
        &mut self,
        recording: &Recording,
        index: usize,
        changed: Option<CallRecord>,
    ) -> Result<Option<Difference>, String> {
        let call = recording.call(index)?;
        if let Some(reason) = compare::unfit(&call) {
            return Err(reason);
        }
        let stage = self.stages.of_call(&call).await?;
        let given = changed.as_ref().unwrap_or(&call);
        if !bub_types::hook::Hook::from_name(&call.hook).is_none_or(|hook| stage.plugin.implements(hook)) {
            let was = call.answer.as_ref().map_or_else(|| "none".to_owned(), canonical);
            return Ok(Some(Difference::new(&call, "answer", &was, "not implemented by the new version")));
        }
        let played = play(&stage, given, true, self.live.map(Live::model)).await?;
        if let Some((function, arguments)) = &played.question {
            let is_outside = changed.is_some();
            let asked = || format!("{function}{}", canonical(&Value::Array(arguments.clone())));
            if is_outside {
                self.changes.question.get_or_insert_with(|| Question::new(&call, function, arguments, &played));
                return Ok(None);
            }
            return Ok(Some(Difference::new(&call, "question to the host", "not asked", &asked())));
        }
        let difference = compare::effect(&call, &played);
        if difference.is_some() {
            self.carried.add(pairs(&call, &played));
        }
        Ok(difference)
    }
}

/// The value with its keys in the order that recordings have.
fn sorted(value: Value) -> Value {
    serde_json::from_str(&canonical(&value)).unwrap_or(value)
}

impl Question {
    /// What the call would have asked, and what it asked then in its place.
    fn new(call: &CallRecord, function: &str, arguments: &[Value], played: &Played) -> Self {
        // The last of them is the question itself.
        let before = played.call.imports.iter().filter(|import| import.function == function).count();
        let was = call.imports.iter().filter(|import| import.function == function).nth(before.saturating_sub(1));
        Self {
            hook: call.hook.clone(),
            plugin: call.plugin.clone(),
            function: function.to_owned(),
            was: was.map(|import| Value::Array(import.arguments.clone())),
            is: sorted(Value::Array(arguments.to_vec())),
        }
    }

    fn to_json(&self) -> Value {
        json!({ "hook": self.hook, "plugin": self.plugin, "function": self.function, "was": self.was, "would_be": self.is })
    }
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.problems.is_empty()
    }

    pub(super) fn to_json(&self, listed: &Listed) -> Value {
        let shown = |all: &[Difference]| all.iter().map(Difference::to_json).collect::<Vec<_>>();
        json!({
            "turn": listed.name,
            "changes": shown(&self.rows),
            "follows": shown(&self.follows),
            "question": self.question.as_ref().map(Question::to_json),
            "live": self.live.iter().map(LiveCall::to_json).collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }
}

/// Prints the table of all turns, and what follows from its rows.
pub(super) fn print(out: &mut impl Write, all: &[(&Listed, Changes)]) -> io::Result<()> {
    let rows: Vec<(&Listed, &Difference)> =
        all.iter().flat_map(|(listed, changes)| changes.rows.iter().map(move |row| (*listed, row))).collect();
    let turns: BTreeSet<&str> = rows.iter().map(|(listed, _)| listed.name.as_str()).collect();
    if !rows.is_empty() {
        let width = rows.iter().map(|(_, row)| row.hook.len()).max().unwrap_or(0).max(4);
        let names = rows.iter().map(|(listed, _)| listed.name.len()).max().unwrap_or(0).max(4);
        writeln!(out, "{:<names$}  {:<width$}  was -> would be", "turn", "hook")?;
        for (listed, row) in &rows {
            let (was, is) = clipped(&row.was, &row.is);
            let (name, hook) = (&listed.name, one_line(&row.hook));
            let part = if row.part == "answer" { String::new() } else { format!("{}: ", row.part) };
            writeln!(out, "{name:<names$}  {hook:<width$}  {part}{was} -> {is}")?;
        }
        writeln!(out)?;
    }
    for (listed, changes) in all {
        let name = &listed.name;
        for problem in &changes.problems {
            writeln!(out, "{name}  not replayable: {problem}")?;
        }
        for follows in &changes.follows {
            writeln!(out, "{name}  then {follows}")?;
        }
        for call in &changes.live {
            writeln!(out, "{name}  live {call}")?;
        }
        if let Some(question) = &changes.question {
            let (hook, plugin, function) =
                (one_line(&question.hook), one_line(&question.plugin), one_line(&question.function));
            writeln!(
                out,
                "{name}  then hook `{hook}` of plugin `{plugin}` would ask `{function}` what was not asked then:"
            )?;
            let shown = |value: &Value| format!("{value:#}");
            let was = question.was.as_ref().map(shown).unwrap_or_default();
            let lines = diff::lines(&was, &shown(&question.is), text::WIDTH, Style::for_stdout());
            for line in lines.iter().take(MAX_LINES) {
                writeln!(out, "    {line}")?;
            }
            if lines.len() > MAX_LINES {
                writeln!(out, "    … and {} more", text::count((lines.len() - MAX_LINES) as u64, "line", "lines"))?;
            }
        }
    }
    let count = text::count(all.len() as u64, "turn", "turns");
    match turns.len() {
        0 => writeln!(out, "{count}, none of which would have been otherwise"),
        some => writeln!(out, "{count}, of which {some} would have been otherwise"),
    }
}
