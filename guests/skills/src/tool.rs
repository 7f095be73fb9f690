//! The tool `skill`.

use crate::discover::Skill;
use crate::offered;
use bub_guest::{Error, Result, Schema, Turn, tool};
use serde::Deserialize;

#[derive(Deserialize, Schema)]
pub struct Asked {
    /// The skill's name; without one, all names are listed.
    name: Option<String>,
}

/// Lists the skills that there are, or gives the text of one. A skill says how a kind of task is done.
// It is not marked as reading from outside: the user's own skills are no stranger's text, and for those of a workspace that is
// not trusted the host taints the turn, where it opens their directory.
#[tool(effect = read)]
pub fn skill(turn: &Turn, asked: Asked) -> Result<String> {
    let skills = offered::of(turn)?;
    match asked.name {
        None => Ok(list(&skills)),
        Some(name) => one(&skills, name.trim()),
    }
}

fn list(skills: &[Skill]) -> String {
    if skills.is_empty() {
        return "No skills are available.".to_owned();
    }
    let lines: String = skills.iter().map(|skill| format!("\n- {}", skill.name)).collect();
    format!("Available skills:{lines}")
}

fn one(skills: &[Skill], name: &str) -> Result<String> {
    let Some(skill) = skills.iter().find(|skill| skill.name == name.to_lowercase()) else {
        return Err(Error::not_found(unknown(skills, name)));
    };
    let body = offered::body(skill).map_err(|reason| Error::tool(format!("skill `{name}`: {reason}")))?;
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
        None => format!("there is no skill `{shown}`; `skill` without a name lists those that there are"),
    }
}

fn has_word(name: &str, written: &str) -> bool {
    name.split('-').any(|word| word == written)
}
