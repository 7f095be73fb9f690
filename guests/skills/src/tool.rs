//! The tool `skill`.

use crate::discover::Skill;
use crate::exports::bub::tools::tools::ToolSpec;
use crate::{Error, ErrorKind, offered};
use serde_json::{Value, json};

/// The tool's name, for models and for people.
pub const NAME: &str = "skill";

const DESCRIPTION: &str =
    "Lists the skills that there are, or gives the text of one. A skill says how a kind of task is done.";

/// The tool's specification. It does not declare `reads-outside`: the user's own skills are trusted, and for those of
/// an untrusted workspace the host taints the turn when it opens their directory.
pub fn spec() -> ToolSpec {
    let name = json!({
        "anyOf": [{ "type": "string" }, { "type": "null" }],
        "description": "The skill's name; without one, all names are listed.",
    });
    ToolSpec {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: json!({ "type": "object", "properties": { "name": name } }).to_string(),
        for_model: true,
        effect: crate::bub::tools::schema::Effect::Read,
        reads_outside: false,
    }
}

/// Runs a call; returns JSON.
pub fn call(skills: &[Skill], arguments: &str) -> Result<String, Error> {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let text = match arguments.get("name") {
        None | Some(Value::Null) => list(skills),
        Some(Value::String(name)) => one(skills, name.trim())?,
        Some(other) => return Err(error(ErrorKind::InvalidInput, format!("`name` must be a text, not `{other}`"))),
    };
    Ok(Value::from(text).to_string())
}

fn list(skills: &[Skill]) -> String {
    if skills.is_empty() {
        return "No skills are available.".to_owned();
    }
    let lines: String = skills.iter().map(|skill| format!("\n- {}", skill.name)).collect();
    format!("Available skills:{lines}")
}

fn one(skills: &[Skill], name: &str) -> Result<String, Error> {
    let Some(skill) = skills.iter().find(|skill| skill.name == name.to_lowercase()) else {
        return Err(error(ErrorKind::NotFound, unknown(skills, name)));
    };
    let body = offered::body(skill).map_err(|reason| error(ErrorKind::Tool, format!("skill `{name}`: {reason}")))?;
    let body = if body.is_empty() { "(no content)" } else { &body };
    Ok(format!("Location: {}\n---\n{body}", skill.location()))
}

/// A suggestion, or else the hint that there is a list.
fn unknown(skills: &[Skill], name: &str) -> String {
    // A model may write a name of any length.
    let shown: String = name.chars().take(64).collect();
    let written = shown.to_lowercase();
    let near = skills
        .iter()
        .map(|skill| (strsim::damerau_levenshtein(&written, &skill.name), skill))
        .filter(|(distance, skill)| *distance <= 1 + skill.name.len() / 4 || has_word(&skill.name, &written))
        .min_by_key(|(distance, _)| *distance);
    match near {
        Some((_, skill)) => format!("there is no skill `{shown}`; did you mean `{}`", skill.name),
        None => format!("there is no skill `{shown}`; `{NAME}` without a name lists those that there are"),
    }
}

fn has_word(name: &str, written: &str) -> bool {
    name.split('-').any(|word| word == written)
}

fn error(kind: ErrorKind, message: String) -> Error {
    Error { kind, message, details: None }
}
