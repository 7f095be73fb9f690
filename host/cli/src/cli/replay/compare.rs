//! What is different between a call as it was recorded and as it was made again.

use crate::cli::text;
use bub_recordings::{CallRecord, Ended, canonical, digest_of};
use bub_runtime::plugin::recording::Played;
use bub_types::hook::Hook;
use bub_types::text::one_line;
use serde_json::{Value, json};
use std::fmt;

/// Characters of a value that are shown.
const SHOWN: usize = 160;

/// Characters before the first difference that are shown.
const BEFORE: usize = 40;

/// Faults that say something of the machine or of other calls: they do not follow from what the call was given.
const NOT_OF_THE_CALL: [&str; 4] = ["deadline", "filled_turn", "quarantined", "not_loaded"];

/// A difference of one call.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    /// The hook.
    pub(super) hook: String,
    /// The plugin.
    pub(super) plugin: String,
    /// The part of the call that differs.
    pub(super) part: String,
    /// As it was recorded.
    pub(super) was: String,
    /// As it is now.
    pub(super) is: String,
}

impl Difference {
    pub(super) fn new(call: &CallRecord, part: impl Into<String>, was: &str, is: &str) -> Self {
        let (was, is) = (was.to_owned(), is.to_owned());
        Self { hook: call.hook.clone(), plugin: call.plugin.clone(), part: part.into(), was, is }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "hook": self.hook, "plugin": self.plugin, "part": self.part, "was": self.was, "is": self.is })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (was, is) = clipped(&self.was, &self.is);
        let (hook, plugin) = (one_line(&self.hook), one_line(&self.plugin));
        write!(f, "hook `{hook}` of plugin `{plugin}`: {}: it was {was}, and is {is}", one_line(&self.part))
    }
}

/// Both texts on one line, from shortly before they differ.
pub(super) fn clipped(was: &str, is: &str) -> (String, String) {
    let same = was.chars().zip(is.chars()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(BEFORE);
    let part = |whole: &str| {
        let rest: String = whole.chars().skip(from).collect();
        let start = if from > 0 { "…" } else { "" };
        format!("`{start}{}`", text::cut(&one_line(&rest), SHOWN))
    };
    (part(was), part(is))
}

/// Why the end of the call cannot be expected again.
pub(super) fn unfit(call: &CallRecord) -> Option<String> {
    if let Some(reason) = &call.unrecorded {
        return Some(one_line(reason));
    }
    let (name, _) = call.fault.as_ref()?;
    NOT_OF_THE_CALL.contains(&name.as_str()).then(|| format!("it was ended by `{}`", one_line(name)))
}

/// The first difference that others can notice: what the call wrote to the log is none.
pub(super) fn effect(call: &CallRecord, played: &Played) -> Option<Difference> {
    const LOG: &str = "bub:plugin/log.log";
    let mut quiet = call.clone();
    quiet.imports.retain(|import| import.function != LOG);
    let mut made = played.clone();
    made.call.imports.retain(|import| import.function != LOG);
    // The answer says most.
    let (was, is) = (&call.answer, &played.call.answer);
    match (was, is) {
        (Some(was), Some(is)) if digest_of(was) != digest_of(is) => {
            Some(Difference::new(call, "answer", &canonical(was), &canonical(is)))
        }
        _ => difference(&quiet, &made),
    }
}

/// The first difference, if there is one.
pub(super) fn difference(call: &CallRecord, played: &Played) -> Option<Difference> {
    let now = &played.call.imports;
    for (at, (was, is)) in call.imports.iter().zip(now).enumerate() {
        let arguments = |values: &[Value]| Value::Array(values.to_vec());
        let (before, after) = (arguments(&was.arguments), arguments(&is.arguments));
        if was.function != is.function || digest_of(&before) != digest_of(&after) {
            let shown = |function: &str, arguments: &Value| format!("{function}{}", canonical(arguments));
            let part = format!("call {} of the host", at + 1);
            return Some(Difference::new(call, part, &shown(&was.function, &before), &shown(&is.function, &after)));
        }
    }
    // The host ended it within an import, whose answer there is none of.
    let ended_within = call.ended == Ended::Fault && played.question.is_some() && now.len() > call.imports.len();
    if call.ended == Ended::Cancelled || ended_within {
        // What follows was not recorded.
        return (now.len() < call.imports.len()).then(|| {
            let next = &call.imports[now.len()];
            Difference::new(call, format!("call {} of the host", now.len() + 1), &next.function, "none")
        });
    }
    if now.len() != call.imports.len() {
        let at = now.len().min(call.imports.len());
        let was = call.imports.get(at).map_or("none", |import| import.function.as_str());
        let is = now.get(at).map_or("none", |import| import.function.as_str());
        return Some(Difference::new(call, format!("call {} of the host", at + 1), was, is));
    }
    let was = call.fault.as_ref().map(|(name, _)| name.as_str());
    // What a selector returned is judged by the tape, which a replay does not have.
    let is_judged = was == Some("contract") && call.hook == Hook::Selector.name() && call.answer.is_some();
    if was != played.fault && !is_judged {
        let shown = |fault: Option<&str>, message: Option<&String>| match fault {
            None => "none".to_owned(),
            Some(name) => format!("{name}: {}", message.map_or("", String::as_str)),
        };
        let before = shown(was, call.fault.as_ref().map(|(_, message)| message));
        return Some(Difference::new(call, "fault", &before, &shown(played.fault, played.call.fault.as_ref())));
    }
    let (was, is) = (&call.answer, &played.call.answer);
    if (call.fault.is_none() || is_judged) && was.as_ref().map(digest_of) != is.as_ref().map(digest_of) {
        let shown = |answer: &Option<Value>| answer.as_ref().map_or_else(|| "none".to_owned(), canonical);
        return Some(Difference::new(call, "answer", &shown(was), &shown(is)));
    }
    None
}
