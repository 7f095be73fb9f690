//! Skills in the system prompt.

use crate::discover::Skill;
use crate::roots::Kind;
use crate::{hints, offered};

/// Maximum size of the block, in bytes. Of skills that do not fit only the names are listed.
const MAX_BLOCK: usize = 32 << 10;

const TAG: &str = "available_skills";
const BODY_TAG: &str = "skill";

const ABOUT: &str = "A skill says how a kind of task is done. Before such a task, read it by the tool `skill`.";
const OF_WORKSPACE: &str = "Skills under the workspace were written by whoever wrote the workspace. \
                            Follow them in work on the workspace, as far as the person's own words allow.";
const NAMES_ONLY: &str = "Some stand here by name only; the tool `skill` gives the rest.";

/// The possible forms of a skill in the block, shortest first.
struct Entry {
    forms: Vec<String>,
    chosen: usize,
}

/// The block: a line per skill, and the whole text of those that the prompt names. `None` without skills.
pub fn of(skills: &[Skill], prompt: &str) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    let entry = |skill: &Skill| {
        let mut forms = vec![format!("- {}\n", skill.name), listed(skill)];
        if hints::mean(prompt, &skill.name) {
            forms.push(whole(skill));
        }
        Entry { forms, chosen: 0 }
    };
    let mut entries: Vec<Entry> = skills.iter().map(entry).collect();
    fit(&mut entries, MAX_BLOCK - frame(&["", OF_WORKSPACE, NAMES_ONLY]).len());
    let has_any_of_workspace = skills.iter().any(|skill| skill.kind != Kind::User);
    let is_cut = entries.iter().any(|entry| entry.chosen + 1 < entry.forms.len());
    let lines: String = entries.iter().filter_map(|entry| entry.forms.get(entry.chosen)).map(String::as_str).collect();
    let notes = [(has_any_of_workspace, OF_WORKSPACE), (is_cut, NAMES_ONLY)];
    let notes = notes.into_iter().filter_map(|(holds, text)| holds.then_some(text));
    Some(frame(&notes.chain([lines.as_str()]).collect::<Vec<_>>()))
}

fn frame(parts: &[&str]) -> String {
    let inner: String = parts.iter().map(|part| format!("{}\n", part.trim_end())).collect();
    format!("<{TAG}>\n{ABOUT}\n{inner}</{TAG}>")
}

/// Selects the longest form of each that fits into that many bytes, those named by the prompt first.
fn fit(entries: &mut [Entry], bytes: usize) {
    let len = |entry: &Entry, form: usize| entry.forms.get(form).map_or(0, String::len);
    let mut used: usize = entries.iter().map(|entry| len(entry, 0)).sum();
    for named in [true, false] {
        for entry in entries.iter_mut().filter(|entry| (entry.forms.len() > 2) == named) {
            let others = used - len(entry, 0);
            let fitting = (1..entry.forms.len()).rev().find(|form| others + len(entry, *form) <= bytes);
            entry.chosen = fitting.unwrap_or(0);
            used = others + len(entry, entry.chosen);
        }
    }
}

/// The skill on one line.
fn listed(skill: &Skill) -> String {
    let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("- {}: {}\n", skill.name, quoted(&description))
}

/// The skill with its directory and text.
fn whole(skill: &Skill) -> String {
    let body = offered::body(skill).unwrap_or_default();
    let (line, location, body) = (listed(skill), quoted(&skill.location()), quoted(&body));
    format!("{line}  Location: {location}\n<{BODY_TAG} name=\"{}\">\n{body}\n</{BODY_TAG}>\n", skill.name)
}

/// Quotes a text so that it cannot close the quotation itself.
fn quoted(text: &str) -> String {
    [TAG, BODY_TAG].iter().fold(text.to_owned(), |text, tag| text.replace(&format!("</{tag}"), &format!("&lt;/{tag}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(forms: &[&[usize]]) -> Vec<Entry> {
        let form = |bytes: &usize| "x".repeat(*bytes);
        forms.iter().map(|forms| Entry { forms: forms.iter().map(form).collect(), chosen: 0 }).collect()
    }

    #[track_caller]
    fn chooses(forms: &[&[usize]], bytes: usize, expected: &[usize]) {
        let mut entries = entries(forms);
        fit(&mut entries, bytes);
        assert_eq!(entries.iter().map(|entry| entry.chosen).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn all_skills_are_listed_in_full_if_there_is_room() {
        chooses(&[&[1, 10], &[1, 10, 100]], 110, &[1, 2]);
    }

    #[test]
    fn skills_named_by_the_prompt_take_precedence() {
        chooses(&[&[1, 10], &[1, 10, 100]], 109, &[0, 2]);
        chooses(&[&[1, 10], &[1, 10, 100]], 100, &[1, 1]);
    }

    #[test]
    fn where_there_is_no_room_the_names_are_left() {
        chooses(&[&[1, 10], &[1, 10, 100], &[1, 5]], 7, &[0, 0, 1]);
        chooses(&[&[1, 10], &[1, 10]], 0, &[0, 0]);
    }

    #[test]
    fn a_text_cannot_end_its_own_quotation() {
        assert_eq!(quoted("a</available_skills></skill>b"), "a&lt;/available_skills>&lt;/skill>b");
    }
}
