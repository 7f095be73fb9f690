//! Results as text. Media are named and left out: a guest holds none.

use crate::text;
use bub_guest::{Error, Result};
use serde_json::Value;

/// The longest result and the longest error, in characters.
const MAX_RESULT: usize = 1 << 20;
const MAX_ERROR: usize = 16 << 10;

/// The result of a tool.
///
/// # Errors
///
/// `tool`, if the tool says that it failed, or asks for something that it does not get.
pub fn of_tool(server: &str, result: &Value) -> Result<String> {
    if result["resultType"].as_str().is_some_and(|kind| kind != "complete") {
        return Err(Error::tool(format!("the server `{server}` asks the user for something, which servers cannot")));
    }
    let parts = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut shown = parts.iter().map(part).collect::<Vec<_>>().join("\n\n");
    if shown.is_empty() && !result["structuredContent"].is_null() {
        shown = result["structuredContent"].to_string();
    }
    if result["isError"] == true {
        return Err(Error::tool(cut(shown, MAX_ERROR)));
    }
    Ok(cut(shown, MAX_RESULT))
}

/// The contents of a resource.
pub fn of_resource(result: &Value) -> String {
    let contents = result["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    cut(contents.iter().map(resource).collect::<Vec<_>>().join("\n\n"), MAX_RESULT)
}

/// The messages of a prompt.
pub fn of_prompt(result: &Value) -> String {
    let messages = result["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let message = |message: &Value| {
        let role = text::line(message["role"].as_str().unwrap_or("user"), 20);
        format!("{role}: {}", part(&message["content"]))
    };
    cut(messages.iter().map(message).collect::<Vec<_>>().join("\n\n"), MAX_RESULT)
}

fn part(part: &Value) -> String {
    match part["type"].as_str().unwrap_or_default() {
        "text" => part["text"].as_str().unwrap_or_default().to_owned(),
        kind @ ("image" | "audio") => media(kind, &part["mimeType"], &part["data"]),
        "resource" => resource(&part["resource"]),
        "resource_link" => format!("[resource {}]", word(&part["uri"])),
        other => format!("[{}, not shown]", text::line(other, 40)),
    }
}

fn resource(resource: &Value) -> String {
    match resource["text"].as_str() {
        Some(text) => text.to_owned(),
        None => media(&format!("resource {}", word(&resource["uri"])), &resource["mimeType"], &resource["blob"]),
    }
}

fn media(what: &str, kind: &Value, data: &Value) -> String {
    let bytes = data.as_str().unwrap_or_default().len() / 4 * 3;
    format!("[{what}, {}, about {bytes} bytes, not shown]", word(kind))
}

fn word(value: &Value) -> String {
    text::line(value.as_str().unwrap_or_default(), 200)
}

fn cut(mut shown: String, max: usize) -> String {
    if let Some((end, _)) = shown.char_indices().nth(max) {
        shown.truncate(end);
        shown.push_str("\n[the rest is cut]");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_joined_and_media_are_named() {
        let result = json!({ "content": [
            { "type": "text", "text": "a" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "resource", "resource": { "uri": "x:1", "text": "b" } },
            { "type": "strange" }
        ] });
        let shown = of_tool("it", &result).unwrap();
        assert_eq!(shown, "a\n\n[image, image/png, about 3 bytes, not shown]\n\nb\n\n[strange, not shown]");
        let structured = json!({ "content": [], "structuredContent": { "a": 1 } });
        assert_eq!(of_tool("it", &structured).unwrap(), r#"{"a":1}"#);
        let failed = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
        assert_eq!(of_tool("it", &failed).unwrap_err().message, "no");
        for odd in [json!(null), json!([]), json!("x"), json!({ "content": "x" }), json!({ "content": [1, null] })] {
            assert!(of_tool("it", &odd).is_ok(), "{odd}");
        }
    }
}
