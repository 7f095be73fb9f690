//! The skills of a turn.

use crate::discover::{self, Note, Skill};
use crate::{config, roots, template};
use bub_guest::log::{Level, log};
use bub_guest::{Error, Result, Turn};
use serde_json::Value;

/// The key of the turn's state with the allowed skills: a list of names, or absent for all.
const ALLOWED: &str = "allowed_skills";

/// The key that records that this turn's notices were logged.
const TOLD: &str = "skills_told";

/// Maximum notices per turn.
const MAX_NOTES: usize = 32;

/// The skills that the turn may use, by name. Notices are logged once per turn.
///
/// # Errors
///
/// `denied`, when no directory of skills may be opened.
pub fn of(turn: &Turn) -> Result<Vec<Skill>> {
    let (mut skills, notes) = discover::all(&roots::open(&turn.workspace())?);
    tell_once(turn, &notes);
    let allowed = turn.get_json(ALLOWED).map(|text| serde_json::from_str(&text).unwrap_or(Value::from("")));
    skills.retain(|skill| allows(allowed.as_ref(), &skill.name));
    Ok(skills)
}

/// The same for the system prompt, where an error would end the turn: without grants the agent has no skills, which is
/// logged.
pub fn or_none(turn: &Turn) -> Vec<Skill> {
    of(turn).unwrap_or_else(|Error { message, .. }| {
        tell_once(turn, &[Note { warns: true, text: format!("there are no skills: {message}") }]);
        Vec::new()
    })
}

fn tell_once(turn: &Turn, notes: &[Note]) {
    if turn.get_json(TOLD).is_none() && !notes.is_empty() {
        notes.iter().take(MAX_NOTES).for_each(tell);
        // Said once more at worst.
        let _ = turn.set(TOLD, &true);
    }
}

fn tell(note: &Note) {
    let level = if note.warns { Level::Warn } else { Level::Debug };
    log(level, &note.text);
}

/// Whether a turn with that value may use the skill. A value that is not a list allows none.
fn allows(allowed: Option<&Value>, skill: &str) -> bool {
    match allowed {
        None | Some(Value::Null) => true,
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(|name| name.to_lowercase() == skill),
        Some(_) => false,
    }
}

/// The skill's text with placeholders filled in.
///
/// # Errors
///
/// Why it cannot be read.
pub fn body(skill: &Skill) -> Result<String, String> {
    skill.body().map(|text| template::render(&text, &skill.shown, config::text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_turn_uses_the_skills_that_it_is_allowed() {
        assert!(allows(None, "a") && allows(Some(&Value::Null), "a"));
        assert!(allows(Some(&json!(["b", "A"])), "a"));
        assert!(!allows(Some(&json!([])), "a") && !allows(Some(&json!(["b"])), "a"));
        assert!(!allows(Some(&json!("a")), "a") && !allows(Some(&json!({ "a": true })), "a"));
    }
}
