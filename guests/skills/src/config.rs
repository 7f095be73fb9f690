//! `${config.a.b}`: values of the configuration in a skill's text, without keys.

use bub_guest::config;
use serde_json::Value;

/// Last words of the names of secret values.
const SECRET_NAMES: [&str; 9] =
    ["key", "keys", "token", "tokens", "secret", "secrets", "password", "passwd", "credentials"];

/// Known prefixes of keys.
const SECRET_VALUES: [&str; 12] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "Bearer ",
    "-----BEGIN",
    "{{secret:",
];

/// The value at that path as text; lists and maps as JSON, which is valid YAML. Empty if it is missing or looks like a
/// key, since a prompt is sent to a model and kept on a tape.
pub fn text(path: &str) -> String {
    at(path, |name| config::get(name).ok().flatten())
}

fn at(path: &str, get: impl Fn(&str) -> Option<Value>) -> String {
    let mut names = path.split('.').map(str::trim);
    let Some(first) = names.next().filter(|_| !path.split('.').any(names_a_secret)) else { return String::new() };
    // This program's settings are hyphenated, the original's have underscores.
    let found = get(first).or_else(|| get(&first.replace('_', "-")));
    let found = names.try_fold(found.unwrap_or_default(), |value, name| value.get(name).cloned());
    match clean(found.unwrap_or_default()) {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The value without parts that look like keys.
fn clean(value: Value) -> Value {
    match value {
        Value::String(text) if looks_secret(&text) => Value::Null,
        Value::Array(values) => values.into_iter().map(clean).collect(),
        Value::Object(map) => {
            let open = map.into_iter().filter(|(name, _)| !names_a_secret(name));
            Value::Object(open.map(|(name, value)| (name, clean(value))).collect())
        }
        other => other,
    }
}

/// Whether the last word of the name is one of those; `apiKey` ends with `key` too.
fn names_a_secret(name: &str) -> bool {
    let name = name.trim();
    let start = name.rfind(|character: char| !character.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let word = name.get(start..).unwrap_or(name);
    let camel = word.rfind(|character: char| character.is_ascii_uppercase()).and_then(|at| word.get(at..));
    let is_one = |word: &str| SECRET_NAMES.iter().any(|secret| word.eq_ignore_ascii_case(secret));
    is_one(word) || camel.is_some_and(is_one) || name.to_ascii_lowercase().ends_with("apikey")
}

fn looks_secret(text: &str) -> bool {
    SECRET_VALUES.iter().any(|start| text.trim_start().starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(path: &str) -> String {
        let table = json!({
            "model": "openai:fake-model",
            "max-steps": 5,
            "list": ["a", "sk-123"],
            "jira": { "url": "https://j", "api_key": "x", "apiKey": "x", "accessToken": "x", "note": "ghp_123" },
            "monkey": "banana",
            "token": { "url": "x" },
        });
        at(path, |name| table.get(name).cloned())
    }

    #[test]
    fn a_value_is_rendered_as_text() {
        assert_eq!(rendered("model"), "openai:fake-model");
        assert_eq!(rendered("max_steps"), "5");
        assert_eq!(rendered("jira.url"), "https://j");
        assert_eq!(rendered("monkey"), "banana");
    }

    #[test]
    fn a_missing_value_is_empty() {
        for path in ["nope", "nope.x", "model.x", "", ".", "jira.url.x"] {
            assert_eq!(rendered(path), "", "{path}");
        }
    }

    #[test]
    fn a_value_that_looks_like_a_key_is_empty() {
        for path in ["jira.api_key", "jira.apiKey", "jira.accessToken", "jira.note", "token.url", "apikey", "API-KEY"] {
            assert_eq!(rendered(path), "", "{path}");
        }
        assert_eq!(rendered("jira"), r#"{"url":"https://j","note":null}"#);
        assert_eq!(rendered("list"), r#"["a",null]"#);
    }
}
