//! Conversion of a command's words to a tool's arguments.

use bub_guest::{Error, Result};
use serde_json::{Map, Value};

/// `key=value` is a named argument; words before the first of them are positional, in the order of the schema. Values
/// are converted to the schema's types if possible; the tool reports others.
pub fn of(tool: &str, schema: &Value, words: &[String]) -> Result<Value> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut arguments: Map<String, Value> = Map::new();
    let mut named = false;
    let mut places = properties.keys();
    // A tool with a single text argument gets all words, without quoting.
    let line = words.join(" ");
    let is_text = properties.len() == 1 && properties.values().all(|schema| kinds(schema) == ["string"]);
    if is_text && words.len() > 1 && !words.iter().any(|word| word.contains('=')) {
        return Ok(properties.keys().map(|key| (key.clone(), Value::from(line.as_str()))).collect());
    }
    for word in words {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => {
                named = true;
                (key.to_owned(), value)
            }
            None if named => {
                return Err(Error::invalid(format!("`{word}` has no name, and stands behind arguments that have one")));
            }
            None => match places.next() {
                Some(key) => (key.clone(), word.as_str()),
                None => {
                    let count = properties.len();
                    return Err(Error::invalid(format!(
                        "`{word}` is one argument too many: `{tool}` takes {count}; put a text of several words in quotes"
                    )));
                }
            },
        };
        let value = properties.get(&key).map_or_else(|| value.into(), |schema| read(schema, value));
        arguments.insert(key, value);
    }
    Ok(Value::Object(arguments))
}

/// Converts a value to the schema's type; otherwise it stays a string.
fn read(schema: &Value, text: &str) -> Value {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    let kinds = kinds(schema);
    let is = |kind: &str| kinds.contains(&kind);
    let lower = text.to_ascii_lowercase();
    if is("null") && matches!(lower.as_str(), "null" | "none") {
        return Value::Null;
    }
    if is("boolean") {
        match lower.as_str() {
            "true" | "yes" | "on" | "1" => return true.into(),
            "false" | "no" | "off" | "0" => return false.into(),
            _ => {}
        }
    }
    match parsed(text) {
        Some(number @ Value::Number(_)) if is("integer") || is("number") => return number,
        Some(object @ Value::Object(_)) if is("object") => return object,
        _ => {}
    }
    if is("array") {
        return match parsed(text) {
            Some(list @ Value::Array(_)) => list,
            _ => text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect::<Vec<_>>().into(),
        };
    }
    text.into()
}

fn kinds(schema: &Value) -> Vec<&str> {
    let own = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let several = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten();
    own.into_iter().chain(several.flat_map(kinds)).collect()
}

#[cfg(test)]
mod tests {
    use super::of;
    use serde_json::json;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn arguments_are_converted_to_the_types_of_the_schema() {
        let schema = json!({"type": "object", "properties": {
            "query": {"type": "string"}, "limit": {"type": "integer"},
            "end": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "archive": {"type": "boolean"},
            "kinds": {"type": "array", "items": {"type": "string"}},
        }});
        for (line, expected) in [
            (vec!["Hello"], json!({"query": "Hello"})),
            (vec!["Hello", "3"], json!({"query": "Hello", "limit": 3})),
            (vec!["query=a=b", "limit=x"], json!({"query": "a=b", "limit": "x"})),
            (vec!["archive=True", "end=none"], json!({"archive": true, "end": null})),
            (vec!["kinds=event"], json!({"kinds": ["event"]})),
            (vec!["kinds=event, message"], json!({"kinds": ["event", "message"]})),
            (vec![r#"kinds=["event"]"#], json!({"kinds": ["event"]})),
            (vec!["limit=1", "limit=2"], json!({"limit": 2})),
            (vec!["other=1", "=x"], json!({"other": "1", "": "x"})),
        ] {
            assert_eq!(of("t", &schema, &words(&line)).unwrap(), expected, "{line:?}");
        }
        let one_text = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        assert_eq!(of("t", &one_text, &words(&["fix", "the", "parser"])).unwrap(), json!({"name": "fix the parser"}));
        assert!(of("t", &schema, &words(&["limit=1", "x"])).is_err());
        assert!(of("t", &json!({"type": "object"}), &words(&["x"])).is_err());
    }
}
