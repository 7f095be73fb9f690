//! The output of a command, formatted for people: a tool returns the same text to a model and to a person.

use super::text;
use bub_tape::{json, typed};
use serde_json::Value;

/// Lines of one hit that are shown.
const MAX_LINES: usize = 6;

/// The prefix of the output of a tape search.
const SEARCH: &str = "[tape.search]: ";

/// Formats output as lines. An entry of the tape shows its role, its date and its text.
pub fn lines(output: &str, width: usize) -> Vec<String> {
    output.trim_end().lines().flat_map(|line| laid_out(line, width)).collect()
}

fn laid_out(line: &str, width: usize) -> Vec<String> {
    if let Some(count) = line.strip_prefix(SEARCH) {
        let (found, rest) = count.split_once(" matches (").unwrap_or((count, ""));
        let number = found.parse().unwrap_or(0);
        let left_out = match rest.strip_suffix(" filtered)").and_then(|count| count.parse::<u64>().ok()) {
            Some(count @ 1..) => format!("; {count} of earlier searches left out"),
            _ => String::new(),
        };
        return vec![format!("{}{left_out}", text::count(number, "entry found", "entries found"))];
    }
    match hit(line, width) {
        Some(lines) => lines,
        None => vec![text::line(&line.replace('\t', "    "))],
    }
}

/// An entry of the tape: a head line, and a few lines of text.
fn hit(line: &str, width: usize) -> Option<Vec<String>> {
    let Value::Object(entry) = serde_json::from_str(line).ok()? else { return None };
    let (date, payload) = (entry.get("date")?.as_str()?, entry.get("content")?.as_object()?);
    let named = |key: &str| payload.get(key).and_then(Value::as_str);
    let who =
        named("role").or_else(|| named("name")).unwrap_or(if payload.contains_key("results") { "tool" } else { "" });
    let said = match (payload.get("content"), payload.get("results")) {
        (Some(Value::String(said)), _) => typed(said).to_owned(),
        (None, Some(Value::Array(results))) => results.iter().map(plain).collect::<Vec<_>>().join("\n"),
        (Some(other), _) => plain(other),
        (None, _) => payload.get("state").or_else(|| payload.get("data")).map(plain).unwrap_or_default(),
    };
    let mut folded = text::fold(&said, width.saturating_sub(2));
    if let Some(more) = folded.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        folded.truncate(MAX_LINES);
        folded.push(format!("… {}", text::count(more as u64, "more line", "more lines")));
    }
    let head = text::cut(&format!("{}  {who}", text::date(date)), width);
    let below = folded.into_iter().filter(|line| !line.is_empty()).map(|line| format!("  {line}"));
    Some([String::new(), head].into_iter().chain(below).collect())
}

/// A value's text; of content parts that of each that has one.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => json::string(text).unwrap_or_else(|| text.clone()),
        Value::Array(parts) if parts.iter().any(|part| part.get("text").is_some()) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.map(typed).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}
