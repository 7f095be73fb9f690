//! Resources and prompts, as tools: without a name they list what there is.

use crate::client::Client;
use crate::{content, listing, text};
use bub_guest::{Error, Result};
use serde_json::{Value, json};
use std::time::Instant;

/// Pages and items of a list that is shown.
const MAX_LISTED: (usize, usize) = (8, 200);

/// `read_resource`.
///
/// # Errors
///
/// The server's.
pub fn read_resource(client: &mut Client, arguments: &Value, until: Instant) -> Result<String> {
    has(client, client.known.resources, "resources")?;
    if let Some(uri) = arguments["uri"].as_str() {
        return Ok(content::of_resource(&client.request("resources/read", json!({ "uri": uri }), until)?));
    }
    let listed = listing::pages(client, "resources/list", "resources", MAX_LISTED, until)?;
    let one = |resource: &Value| row(&[&resource["uri"], &resource["name"], &resource["description"]]);
    Ok(list("resource", &listed, one))
}

/// `get_prompt`.
///
/// # Errors
///
/// The server's.
pub fn get_prompt(client: &mut Client, arguments: &Value, until: Instant) -> Result<String> {
    has(client, client.known.prompts, "prompts")?;
    if let Some(name) = arguments["name"].as_str() {
        let values = if arguments["arguments"].is_object() { arguments["arguments"].clone() } else { json!({}) };
        let params = json!({ "name": name, "arguments": values });
        return Ok(content::of_prompt(&client.request("prompts/get", params, until)?));
    }
    let listed = listing::pages(client, "prompts/list", "prompts", MAX_LISTED, until)?;
    let one = |prompt: &Value| {
        let arguments = prompt["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names = arguments.iter().take(20).map(|argument| {
            let name = text::line(argument["name"].as_str().unwrap_or_default(), 60);
            if argument["required"] == true { format!("{name} (required)") } else { name }
        });
        let names = names.collect::<Vec<_>>().join(", ");
        let about = row(&[&prompt["name"], &prompt["description"]]);
        if names.is_empty() { about } else { format!("{about}; arguments: {names}") }
    };
    Ok(list("prompt", &listed, one))
}

fn has(client: &Client, has: bool, what: &str) -> Result<()> {
    if has { Ok(()) } else { Err(Error::not_found(format!("the server `{}` has no {what} any more", client.name))) }
}

fn row(values: &[&Value]) -> String {
    let words = values.iter().map(|value| text::line(value.as_str().unwrap_or_default(), 300));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" - ")
}

fn list(what: &str, listed: &[Value], one: impl Fn(&Value) -> String) -> String {
    if listed.is_empty() {
        return format!("there is no {what}");
    }
    let rows: Vec<String> = listed.iter().take(MAX_LISTED.1).map(|item| format!("- {}", one(item))).collect();
    let more = if listed.len() > MAX_LISTED.1 { "\n(there are more)" } else { "" };
    format!("{}{more}", rows.join("\n"))
}
