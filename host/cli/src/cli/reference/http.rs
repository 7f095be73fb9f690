//! The HTTP API, from its OpenAPI document.

use super::{begin, sentence, table};
use anyhow::{Context, Result};
use bub_server::DOCUMENT;
use serde_json::Value;

pub(super) fn page() -> Result<String> {
    let document: Value = serde_json::from_str(DOCUMENT)?;
    let intro = "`bub-wasm serve` answers this API; `GET /v1/openapi.json` returns the OpenAPI document that this page is made of.\n\
        Requests need `Authorization: Bearer TOKEN` unless a path says otherwise.\n";
    let mut page = begin("HTTP API", intro);
    let paths = document["paths"].as_object().context("the document has paths")?;
    for tag in document["tags"].as_array().context("the document has tags")? {
        let name = tag["name"].as_str().unwrap_or_default();
        page.push_str(&format!("## {}\n", heading(name)));
        if let Some(about) = tag["description"].as_str() {
            page.push_str(&format!("\n{}\n", sentence(about)));
        }
        for (path, methods) in paths {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                if operation["tags"][0] == name {
                    let title = format!("{} {path}", method.to_uppercase());
                    describe(&mut page, &document, &title, operation);
                }
            }
        }
        page.push('\n');
    }
    page.push_str("## Errors\n\nThe body of each is a [Problem](#problem).\n");
    for (name, response) in document["components"]["responses"].as_object().into_iter().flatten() {
        let about = response["description"].as_str().unwrap_or_default();
        page.push_str(&format!("\n### {name}\n\n{}\n", sentence(about)));
    }
    page.push_str("\n## Objects\n");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        page.push_str(&format!("\n### {name}\n\n"));
        if let Some(about) = schema["description"].as_str() {
            page.push_str(&format!("{}\n\n", sentence(about)));
        }
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let rows = schema["properties"].as_object().into_iter().flatten().map(|(key, property)| {
            let needed = if required.contains(&key.as_str()) { "yes" } else { "" };
            let about = property["description"].as_str().unwrap_or_default();
            vec![format!("`{key}`"), kind(property), needed.to_owned(), sentence(about)]
        });
        table(&mut page, &["Field", "Type", "Required", "Meaning"], rows);
    }
    Ok(page)
}

fn heading(name: &str) -> String {
    match name {
        "openai" => "OpenAI".to_owned(),
        "mcp" => "MCP".to_owned(),
        name => sentence(name).trim_end_matches('.').to_owned(),
    }
}

fn describe(page: &mut String, document: &Value, title: &str, operation: &Value) {
    page.push_str(&format!("\n### `{title}`\n\n"));
    page.push_str(&format!("{}\n", sentence(operation["summary"].as_str().unwrap_or_default())));
    if let Some(about) = operation["description"].as_str() {
        page.push_str(&format!("{}\n", sentence(about)));
    }
    if operation["security"].as_array().is_some_and(Vec::is_empty) {
        page.push_str("No token is needed.\n");
    }
    let parameters: Vec<&Value> = operation["parameters"].as_array().into_iter().flatten().collect();
    if !parameters.is_empty() {
        page.push('\n');
        let rows = parameters.iter().map(|parameter| {
            let parameter = resolved(document, parameter);
            let name = parameter["name"].as_str().unwrap_or_default();
            let place = parameter["in"].as_str().unwrap_or_default();
            let about = parameter["description"].as_str().unwrap_or_default();
            vec![format!("`{name}`"), place.to_owned(), kind(&parameter["schema"]), sentence(about)]
        });
        table(page, &["Parameter", "In", "Type", "Meaning"], rows);
    }
    let body = &operation["requestBody"];
    let contents = body["content"].as_object().into_iter().flatten();
    for (content, schema) in contents {
        let about = body["description"].as_str().map(sentence).unwrap_or_default();
        let text = format!("Body: `{content}`, {}. {about}", kind(&schema["schema"]));
        page.push_str(&format!("\n{}\n", text.trim_end()));
    }
    page.push('\n');
    let responses: Vec<_> = operation["responses"].as_object().into_iter().flatten().collect();
    let (shared, own): (Vec<_>, Vec<_>) = responses.into_iter().partition(|(_, response)| response["$ref"].is_string());
    let rows = own.into_iter().map(|(status, response)| {
        let about = response["description"].as_str().map(sentence);
        let object = response["content"].as_object().into_iter().flatten().next();
        let object = object.map(|(content, schema)| format!("`{content}`, {}", kind(&schema["schema"])));
        vec![status.clone(), object.unwrap_or_default(), about.unwrap_or_default()]
    });
    table(page, &["Status", "Content", "Meaning"], rows);
    if !shared.is_empty() {
        let links = shared.iter().map(|(status, response)| {
            let name = response["$ref"].as_str().and_then(last).unwrap_or_default();
            format!("[{status}](#{})", name.to_lowercase())
        });
        page.push_str(&format!("\nErrors: {}.\n", links.collect::<Vec<_>>().join(", ")));
    }
}

/// The type that a schema names.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(last) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(|value| format!("`{}`", value.to_string().trim_matches('"')))
            .collect::<Vec<_>>()
            .join(", ");
    }
    for of in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[of].as_array() {
            return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// Resolves a `$ref`; other values are returned unchanged.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(value)
}

fn last(reference: &str) -> Option<&str> {
    reference.rsplit('/').next()
}
