//! `$name` in a prompt refers to a skill.

use bub_guest::Prompt;
use serde_json::Value;

/// The prompt as text; of content parts, the text parts, one per line.
pub fn text(prompt: &Prompt) -> String {
    match prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Parts(parts) => {
            let parts: Vec<Value> = serde_json::from_str(parts).unwrap_or_default();
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            texts.join("\n")
        }
    }
}

/// Names after dollar signs: letters, digits, `_`, `.` and `-`.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).filter_map(|rest| {
        let is_part = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        rest.get(..end).filter(|name| !name.is_empty())
    })
}

/// Whether the text names that skill. A final full stop is not part of the name.
pub fn mean(text: &str, skill: &str) -> bool {
    names(text).any(|name| name == skill || name.trim_end_matches(['.', '-', '_']) == skill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_they_were_recorded() {
        for case in crate::recorded::cases("skill_hint_regex") {
            let text = case["input"].as_str().expect("a text");
            let found: Vec<&str> = names(text).collect();
            assert_eq!(Value::from(found), case["ok"], "{text:?}");
        }
    }

    #[test]
    fn a_skill_is_meant_by_its_exact_name_also_at_the_end_of_a_sentence() {
        assert!(mean("use $demo-skill.", "demo-skill") && mean("$demo-skill, then", "demo-skill"));
        assert!(!mean("use $Demo-skill", "demo-skill") && !mean("use $demo-skill2", "demo-skill"));
    }

    #[test]
    fn of_a_prompt_of_parts_the_texts_are_looked_at() {
        let parts = r#"[{"type":"text","text":"a $one"},{"type":"image_url"},{"type":"text","text":"$two"}]"#;
        assert_eq!(text(&Prompt::Parts(parts.to_owned())), "a $one\n$two");
    }
}
