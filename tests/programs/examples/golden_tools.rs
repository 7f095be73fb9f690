//! The tools of the recorded runs, with the recorded results: `bash` and `fs.write` only say what the real ones said,
//! `tape.handoff` and `tape.info` do what they say on the tape of the turn.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/tools", generate_all });

use bub::tape::entries::{Query, Start};
use bub::tape::tape::Tape;
use bub::tools::schema::{Effect, ToolSpec};
use bub::turn::turn::Turn;
use bub::types::types::{Error, ErrorKind};
use serde_json::{Value, json};

struct GoldenTools;

impl exports::bub::tools::tools::Guest for GoldenTools {
    fn list_tools() -> Vec<ToolSpec> {
        vec![
            tool("bash", &["cmd"], Effect::Run),
            tool("fs.write", &["path", "content"], Effect::Write),
            tool("tape.handoff", &["name", "summary"], Effect::Write),
            tool("tape.info", &[], Effect::Read),
        ]
    }

    fn call_tool(turn: Turn, name: String, arguments: String) -> Result<String, Error> {
        let arguments: Value = serde_json::from_str(&arguments).map_err(|e| invalid(e.to_string()))?;
        let text = match name.as_str() {
            "bash" => bash(&arguments)?,
            "fs.write" => format!("wrote: {}/{}", turn.workspace(), text(&arguments, "path")?),
            "tape.handoff" => handoff(&turn.tape()?, &arguments)?,
            "tape.info" => info(&turn.tape()?)?,
            other => return Err(invalid(format!("no tool `{other}`"))),
        };
        Ok(Value::from(text).to_string())
    }
}

fn tool(name: &str, parameters: &[&str], effect: Effect) -> ToolSpec {
    let properties: serde_json::Map<String, Value> =
        parameters.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    ToolSpec {
        name: name.to_owned(),
        description: format!("What `{name}` said when the runs were recorded."),
        parameters: json!({ "type": "object", "properties": properties, "required": parameters }).to_string(),
        for_model: true,
        effect,
        reads_outside: false,
    }
}

fn bash(arguments: &Value) -> Result<String, Error> {
    match text(arguments, "cmd")? {
        "echo hello-from-tool" => Ok("hello-from-tool".to_owned()),
        other => Err(invalid(format!("`{other}` was not recorded"))),
    }
}

fn handoff(tape: &Tape, arguments: &Value) -> Result<String, Error> {
    let name = text(arguments, "name")?;
    let state = json!({ "summary": text(arguments, "summary")? });
    tape.handoff(name, Some(&state.to_string()))?;
    Ok(format!("anchor added: {name}"))
}

fn info(tape: &Tape) -> Result<String, Error> {
    let info = tape.info()?;
    let rate = hit_rate(tape)?.map_or("None".to_owned(), |rate| format!("{:.2}%", rate * 100.0));
    Ok(format!(
        "name: {}\nentries: {}\nanchors: {}\nlast_anchor: {}\nentries_since_last_anchor: {}\n\
         last_token_usage: {}\nlast_token_cache_hit_rate: {rate}",
        info.name,
        info.entries,
        info.anchors,
        info.last_anchor.unwrap_or("None".to_owned()),
        info.entries_since_last_anchor,
        info.last_token_usage.map_or("None".to_owned(), |tokens| tokens.to_string()),
    ))
}

/// What part of the last prompt the provider had in its cache.
fn hit_rate(tape: &Tape) -> Result<Option<f64>, Error> {
    let events = tape.query(&Query {
        start: Start::First,
        kinds: vec!["event".to_owned()],
        name: None,
        text: None,
        since: None,
        until: None,
        newest_first: true,
        limit: None,
    })?;
    loop {
        let batch = events.next(64)?;
        if batch.is_empty() {
            return Ok(None);
        }
        for entry in batch {
            let payload: Value = serde_json::from_str(&entry.payload).unwrap_or_default();
            let usage = &payload["data"]["usage"];
            if payload["name"] == "run" && usage["total_tokens"].is_u64() {
                let prompt = usage["prompt_tokens"].as_f64().filter(|tokens| *tokens > 0.0);
                let cached = usage["prompt_tokens_details"]["cached_tokens"].as_f64();
                return Ok(cached.zip(prompt).map(|(cached, prompt)| cached / prompt));
            }
        }
    }
}

fn text<'a>(arguments: &'a Value, key: &str) -> Result<&'a str, Error> {
    arguments[key].as_str().ok_or_else(|| invalid(format!("`{key}` is no text")))
}

fn invalid(message: String) -> Error {
    Error { kind: ErrorKind::InvalidInput, message, details: None }
}

export!(GoldenTools);
