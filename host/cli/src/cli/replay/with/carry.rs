//! Carries other results into the calls that got them.
//!
//! A result reaches later calls as a text: as an argument, in the state of the turn, or in the answer of an import that the
//! host made of it, within JSON within JSON. So each text of a result that differs is replaced in what those calls were given.
//! What the outside was asked is left as it was: there, the recording has no answer to another question.

use bub_recordings::CallRecord;
use bub_runtime::plugin::recording::Played;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Texts of fewer bytes are replaced only where they are a whole value.
const MIN_PART: usize = 16;

/// JSON within JSON, at most.
const MAX_NESTED: usize = 4;

/// Interfaces by which a plugin asks the host for what it holds of the turn. Others lead outside.
const INSIDE: [&str; 4] = ["bub:turn/", "bub:tape/", "bub:context/", "bub:plugin/"];

/// The exception among them: a turn inside the turn asks a model.
const OUTSIDE: &str = "bub:turn/subturn.";

/// The import by which an agent loop hands out its answer.
const EMIT: &str = "bub:turn/turn.emit";

/// Texts and what they are now.
#[derive(Default)]
pub(super) struct Carried(Vec<(String, String)>);

/// The texts of the result that differ, and what they are now.
pub(super) fn pairs(call: &CallRecord, played: &Played) -> Vec<(String, String)> {
    let mut found = Vec::new();
    // What was said in pieces is an output as a whole, and another one may have come in other pieces.
    let said = |imports: &mut dyn Iterator<Item = (&str, &[Value])>| -> String {
        let emitted = imports.filter(|(function, _)| *function == EMIT);
        emitted.filter_map(|(_, arguments)| arguments.last()?.get("Text")?.as_str()).collect()
    };
    let was = said(&mut call.imports.iter().map(|import| (import.function.as_str(), &import.arguments[..])));
    let is = said(&mut played.call.imports.iter().map(|import| (import.function.as_str(), &import.arguments[..])));
    collect(&was.into(), &is.into(), &mut found);
    if let (Some(was), Some(is)) = (&call.answer, &played.call.answer) {
        collect(was, is, &mut found);
    }
    // What it tells the turn: its state, and pieces of an answer.
    let mut told: HashMap<&str, VecDeque<&[Value]>> = HashMap::new();
    for import in &played.call.imports {
        told.entry(&import.function).or_default().push_back(&import.arguments);
    }
    for import in &call.imports {
        if let Some(is) = told.get_mut(import.function.as_str()).and_then(VecDeque::pop_front) {
            import.arguments.iter().zip(is).for_each(|(was, is)| collect(was, is, &mut found));
        }
    }
    found
}

fn collect(was: &Value, is: &Value, found: &mut Vec<(String, String)>) {
    match (was, is) {
        (Value::String(was), Value::String(is)) if was != is && !was.is_empty() => {
            found.push((was.clone(), is.clone()))
        }
        (Value::Array(was), Value::Array(is)) => was.iter().zip(is).for_each(|(was, is)| collect(was, is, found)),
        (Value::Object(was), Value::Object(is)) => {
            for (key, was) in was {
                if let Some(is) = is.get(key) {
                    collect(was, is, found);
                }
            }
        }
        _ => {}
    }
}

impl Carried {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn add(&mut self, pairs: Vec<(String, String)>) {
        for pair in pairs {
            if !self.0.iter().any(|(was, _)| *was == pair.0) {
                self.0.push(pair);
            }
        }
        // The longest first: one text may be a part of another.
        self.0.sort_by_key(|(was, _)| std::cmp::Reverse(was.len()));
    }

    /// The call with the texts as they are now; none if it got none of them.
    pub(super) fn apply(&self, call: &CallRecord) -> Option<CallRecord> {
        let mut changed = call.clone();
        let mut turn = (*call.turn).clone();
        let mut is_other = self.replace(&mut changed.arguments) | self.replace(&mut turn);
        for import in &mut changed.imports {
            let is_inside = INSIDE.iter().any(|prefix| import.function.starts_with(prefix));
            if is_inside && !import.function.starts_with(OUTSIDE) {
                import.arguments.iter_mut().for_each(|argument| {
                    self.replace(argument);
                });
                is_other |= self.replace(&mut import.answer);
            }
        }
        changed.turn = Arc::new(turn);
        is_other.then_some(changed)
    }

    fn replace(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.replaced(text) {
                Some(other) => {
                    *text = other;
                    true
                }
                None => false,
            },
            Value::Array(values) => values.iter_mut().fold(false, |any, value| self.replace(value) | any),
            Value::Object(map) => map.values_mut().fold(false, |any, value| self.replace(value) | any),
            _ => false,
        }
    }

    fn replaced(&self, text: &str) -> Option<String> {
        if let Some((_, is)) = self.0.iter().find(|(was, _)| was == text) {
            return Some(is.clone());
        }
        let mut other = text.to_owned();
        for (was, is) in &self.0 {
            if was.len() >= MIN_PART {
                other = other.replace(was.as_str(), is);
            }
            let (mut was, mut is) = (was.clone(), is.clone());
            for _ in 0..MAX_NESTED {
                (was, is) = (Value::from(was).to_string(), Value::from(is).to_string());
                other = other.replace(&was, &is);
            }
        }
        (other != text).then_some(other)
    }
}
