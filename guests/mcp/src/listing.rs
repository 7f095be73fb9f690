//! The tools that a server offers, in a form that is the same whenever they are the same.

use crate::client::Client;
use crate::text;
use bub_guest::{Error, Result};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// Pages of a list, tools in all, and bytes of the whole list.
const MAX_PAGES: usize = 32;
const MAX_TOOLS: usize = 128;
const MAX_LIST: usize = 1 << 20;

/// Characters of a name, of a description, and of a description in a schema; bytes of a schema.
const MAX_NAME: usize = 128;
const MAX_DESCRIPTION: usize = 4_000;
const MAX_ABOUT: usize = 1_000;
const MAX_SCHEMA: usize = 64 << 10;

/// What a server offers.
pub struct Listing {
    /// The list as JSON, whose digest the user accepts.
    pub text: String,
    /// The names of the tools in it.
    pub names: Vec<String>,
    /// Tools that are not in it, each with the reason.
    pub left_out: Vec<String>,
}

impl Listing {
    /// SHA-256 of the list, in hex.
    pub fn digest(&self) -> String {
        hmac_sha256::Hash::hash(self.text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// Asks the server for its tools.
///
/// # Errors
///
/// It does not answer, or its answer is no list.
pub fn of(client: &mut Client, until: Instant) -> Result<Listing> {
    let (mut listed, mut left_out) = (Vec::new(), Vec::new());
    if client.known.tools {
        listed = pages(client, "tools/list", "tools", (MAX_PAGES, MAX_TOOLS), until)?;
        if listed.len() > MAX_TOOLS {
            left_out.push(format!("all after the first {MAX_TOOLS}"));
            listed.truncate(MAX_TOOLS);
        }
    }
    let mut tools: BTreeMap<String, Value> = BTreeMap::new();
    for listed in &listed {
        let name = listed["name"].as_str().unwrap_or_default();
        match tool(name, listed) {
            Ok(_) if tools.contains_key(name) => left_out.push(format!("a second `{}`", text::line(name, 40))),
            Ok(tool) => drop(tools.insert(name.to_owned(), tool)),
            Err(why) => left_out.push(format!("`{}`: {why}", text::line(name, 40))),
        }
    }
    let (mut size, mut fitting) = (0, Vec::new());
    for (name, tool) in tools {
        size += tool.to_string().len();
        match size > MAX_LIST {
            true => {
                left_out.push(format!("`{}`: the list is longer than {} MiB", text::line(&name, 40), MAX_LIST >> 20))
            }
            false => fitting.push((name, tool)),
        }
    }
    let (names, tools): (Vec<String>, Vec<Value>) = fitting.into_iter().unzip();
    let (resources, prompts) = (client.known.resources, client.known.prompts);
    let list = json!({ "tools": tools, "resources": resources, "prompts": prompts });
    Ok(Listing { text: list.to_string(), names, left_out })
}

/// All items of a list that comes in pages; one more than `max` if there are more.
///
/// # Errors
///
/// The server does not answer, or its answer is no list.
pub fn pages(
    client: &mut Client,
    method: &str,
    key: &str,
    (max_pages, max): (usize, usize),
    until: Instant,
) -> Result<Vec<Value>> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..max_pages {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let mut result = client.request(method, params, until)?;
        let Value::Array(items) = result[key].take() else {
            return Err(Error::tool(format!(
                "the server `{}` answered `{method}` with something that is no list",
                client.name
            )));
        };
        all.extend(items);
        if all.len() > max {
            all.truncate(max + 1);
            return Ok(all);
        }
        let next = result["nextCursor"].as_str().filter(|next| !next.is_empty()).map(str::to_owned);
        if next.is_none() || next == cursor {
            return Ok(all);
        }
        cursor = next;
    }
    Err(Error::tool(format!("the server `{}` answered `{method}` with more than {max_pages} pages", client.name)))
}

/// A tool of the list, with what a stranger's text may have.
fn tool(name: &str, listed: &Value) -> std::result::Result<Value, String> {
    if name.is_empty()
        || name.chars().count() > MAX_NAME
        || !name.chars().all(|c| text::is_shown(c) && !c.is_whitespace())
    {
        return Err(format!("its name is not one of at most {MAX_NAME} visible characters"));
    }
    let parameters = match &listed["inputSchema"] {
        Value::Null => json!({ "type": "object" }),
        Value::Object(schema) => cleaned(schema)?,
        _ => return Err("its schema is no object".to_owned()),
    };
    if parameters.to_string().len() > MAX_SCHEMA {
        return Err(format!("its schema is longer than {} KiB", MAX_SCHEMA >> 10));
    }
    let mut hints = Map::new();
    for (key, said) in
        [("read_only", "readOnlyHint"), ("destructive", "destructiveHint"), ("open_world", "openWorldHint")]
    {
        if let Some(hint) = listed["annotations"][said].as_bool() {
            hints.insert(key.to_owned(), hint.into());
        }
    }
    let description = text::clean(listed["description"].as_str().unwrap_or_default().trim(), MAX_DESCRIPTION);
    Ok(json!({ "name": name, "description": description, "parameters": parameters, "hints": hints }))
}

/// A schema whose texts are clean. Keys stay as they are, because the arguments have them.
fn cleaned(schema: &Map<String, Value>) -> std::result::Result<Value, String> {
    let mut clean = Map::new();
    for (key, value) in schema {
        if !key.chars().all(text::is_shown) {
            return Err("its schema has invisible characters in a name".to_owned());
        }
        clean.insert(key.clone(), cleaned_value(value)?);
    }
    Ok(Value::Object(clean))
}

fn cleaned_value(value: &Value) -> std::result::Result<Value, String> {
    Ok(match value {
        Value::Object(schema) => cleaned(schema)?,
        Value::Array(items) => Value::Array(items.iter().map(cleaned_value).collect::<std::result::Result<_, _>>()?),
        Value::String(text) => Value::String(text::clean(text, MAX_ABOUT)),
        other => other.clone(),
    })
}
