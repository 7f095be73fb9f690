//! A conversation as Markdown.

use super::entry::Entry;
use super::entry_text::{body, value};
use super::json;
use bub_types::text::line;

/// The heading of a document, on one line.
pub fn title(title: &str) -> String {
    format!("# {}\n", line(title))
}

/// One entry; empty for events, which are not part of the conversation.
pub fn entry(entry: &Entry) -> String {
    let date = date(&entry.date);
    let body = body(entry).join("\n");
    match &*entry.kind {
        "anchor" => {
            let state = if body.is_empty() { String::new() } else { fenced(&body, "json") };
            format!("\n## {} ({date})\n{state}", line(&entry.name().unwrap_or_default()))
        }
        "message" => {
            let role = json::get(&entry.payload, "role").map_or_else(|| "message".to_owned(), value);
            format!("\n**{}** ({date})\n\n{}\n", line(&role), body.trim_end())
        }
        "system" => format!("\n**system** ({date})\n{}", fenced(&body, "")),
        "tool_call" => format!("\n**calls** ({date})\n{}", fenced(&body, "")),
        "tool_result" => format!("\n**results** ({date})\n{}", fenced(&body, "")),
        "error" => format!("\n**error** ({date}): {}\n", line(&body)),
        _ => String::new(),
    }
}

/// A date, to the second.
fn date(date: &str) -> String {
    line(&date.chars().take(19).collect::<String>().replacen('T', " ", 1))
}

/// A code block whose fence does not occur in the text.
fn fenced(text: &str, language: &str) -> String {
    let fence = bub_types::text::fence(text);
    format!("\n{fence}{language}\n{}\n{fence}\n", text.trim_end())
}
