//! The front matter of a `SKILL.md`: YAML between two lines of three hyphens.

use serde_json::{Map, Value};

/// Maximum length of name and description, in characters.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;

/// Maximum size of front matter in bytes, and limits on its structure. Two hundred skills are parsed in a call with
/// five seconds; a single one must not use them up.
pub const MAX_YAML: usize = 8 << 10;
const MAX_NODES: usize = 512;
const MAX_DEPTH: usize = 16;

/// The front matter with lower-case keys, and the text after it. Without front matter, or if it is not a YAML mapping,
/// there are no keys.
pub fn split(text: &str) -> (Map<String, Value>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match cut(text) {
        Some((yaml, body)) => (fields(yaml), body),
        None => (Map::new(), text),
    }
}

/// The text between the marks, and the text after the second.
fn cut(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_mark(line))?;
    let mut end = first.len();
    for line in lines {
        let after = end + line.len();
        if is_mark(line) {
            return Some((text.get(first.len()..end)?, text.get(after..)?));
        }
        end = after;
    }
    None
}

fn is_mark(line: &str) -> bool {
    line.trim() == "---"
}

fn fields(yaml: &str) -> Map<String, Value> {
    if yaml.len() > MAX_YAML {
        return Map::new();
    }
    let options = serde_saphyr::options! {
        // Anchors can expand exponentially, and front matter needs none.
        budget: serde_saphyr::budget! {
            max_anchors: 0,
            max_nodes: MAX_NODES,
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
        },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options(yaml, options) {
        Ok(Value::Object(fields)) => fields.into_iter().map(|(key, value)| (key.to_lowercase(), value)).collect(),
        _ => Map::new(),
    }
}

/// Name and description of the skill in the directory of that name.
///
/// # Errors
///
/// The front matter lacks a field. The error names it.
pub fn check(dir: &str, fields: &Map<String, Value>) -> Result<(String, String), &'static str> {
    let name = fields.get("name").and_then(Value::as_str).map(str::trim).ok_or("its front matter has no `name`")?;
    if name != dir {
        return Err("its `name` is not that of its directory");
    }
    if !is_name(name) {
        return Err("its `name` is not made of `a` to `z`, digits and single hyphens");
    }
    let description = fields.get("description").and_then(Value::as_str).map(str::trim);
    let description = description.filter(|text| (1..=MAX_DESCRIPTION).contains(&text.chars().count()));
    let description = description.ok_or("its `description` is not a text of 1 to 1024 characters")?;
    match fields.get("metadata") {
        None | Some(Value::Null) => {}
        Some(Value::Object(map)) if map.values().all(Value::is_string) => {}
        Some(_) => return Err("its `metadata` is not a map of texts"),
    }
    Ok((name.to_owned(), description.to_owned()))
}

/// Words of lower-case letters and digits, separated by single hyphens.
pub fn is_name(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    name.len() <= MAX_NAME && name.split('-').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::cases;
    use serde_json::json;

    #[test]
    fn front_matter_is_read_as_it_was_recorded() {
        for case in cases("frontmatter") {
            let text = case["input"].as_str().expect("a text");
            assert_eq!(Value::Object(split(text).0), case["ok"], "{text:?}");
        }
    }

    #[test]
    fn front_matter_is_valid_where_it_was_recorded_to_be() {
        for case in cases("frontmatter_valid") {
            let dir = case["input"]["dir"].as_str().expect("a name");
            let fields = case["input"]["fm"].as_object().expect("a mapping");
            assert_eq!(check(dir, fields).is_ok(), case["ok"] == true, "{case}");
        }
    }

    #[test]
    fn the_body_follows_the_second_mark() {
        assert_eq!(split("---\nname: a\n---\n# A\n---\nb").1, "# A\n---\nb");
        assert_eq!(split("\u{feff}---\r\nname: a\r\n---\r\nbody").1, "body");
        assert_eq!(split("no front matter").1, "no front matter");
    }

    #[test]
    fn names_and_descriptions_that_are_too_long_or_of_the_wrong_type_are_invalid() {
        let with = |description: Value, metadata: Value| {
            let fields = json!({ "name": "a", "description": description, "metadata": metadata });
            check("a", fields.as_object().expect("a mapping")).is_ok()
        };
        assert!(with(json!("ü".repeat(1024)), Value::Null));
        assert!(!with(json!("x".repeat(1025)), Value::Null));
        assert!(!with(json!("d"), json!("k: v")));
        assert!(!is_name(&"x".repeat(65)) && !is_name("-a") && !is_name("a-") && !is_name("") && !is_name("ä"));
    }

    #[test]
    fn yaml_that_unfolds_without_end_is_no_front_matter() {
        let mut yaml = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (one, other) in ('a'..='p').zip('b'..='q') {
            yaml.push_str(&format!("{other}: &{other} [{}]\n", vec![format!("*{one}"); 10].join(",")));
        }
        assert_eq!(fields(&yaml), Map::new());
        for nested in [2_000, 4_000] {
            assert_eq!(fields(&"[".repeat(nested)), Map::new());
            assert_eq!(fields(&format!("a: {}1{}", "[".repeat(nested), "]".repeat(nested))), Map::new());
            assert_eq!(fields(&"- ".repeat(nested)), Map::new());
            assert_eq!(fields(&"? ".repeat(nested)), Map::new());
        }
        assert_eq!(fields(&format!("a: {}", "x".repeat(MAX_YAML))), Map::new());
    }

    #[test]
    fn the_last_of_two_keys_counts_as_in_the_original() {
        assert_eq!(Value::Object(fields("a: 1\na: 2\n")), json!({ "a": 2 }));
    }
}
