//! Comma commands: a line that begins with a comma names a tool and its arguments; no model is called.

mod arguments;
mod words;

use std::time::Instant;

use crate::{APPEND, TAPE, TOOLS, agent, content, json, nearest, record};
use bub_guest::turn::{StreamEvent, ToolCall};
use bub_guest::{Error, Prompt, Result, Turn};
use serde_json::{Value, json};

/// The tool for lines that name no other tool.
const SHELL: &str = "bash";

/// Runs a command, emits its output, and records that it ran or why not: invalid arguments are recorded as an event. A
/// line that cannot be parsed is not recorded, as in Bub.
pub fn run(turn: &Turn, prompt: &Prompt) -> Result<()> {
    let text = content::text(prompt);
    let line = text.trim();
    let line = line.strip_prefix(',').unwrap_or(line).trim();
    let words = words::split(line)?;
    let Some((name, rest)) = words.split_first() else {
        return Err(Error::invalid("a comma begins a command, and no name follows it; `,help` shows the commands"));
    };
    let began = Instant::now();
    let outcome = call(turn, line, name, rest);
    let (status, output) = match &outcome {
        Ok(output) => ("ok", output.clone()),
        Err(error) => ("error", error.message.clone()),
    };
    turn.tape(TAPE)?.writer(APPEND).append(&[record::command(line, name, status, began, &output)])?;
    let output = outcome?;
    turn.emit(&StreamEvent::Text(output.clone()))?;
    turn.emit(&agent::last_event(&output, 0, None))
}

fn call(turn: &Turn, line: &str, name: &str, rest: &[String]) -> Result<String> {
    let tools = TOOLS.list(turn)?;
    let (tool, arguments) = match tools.iter().find(|tool| tool.name == name) {
        Some(tool) => (tool.name.clone(), arguments::of(&tool.name, &json::value(&tool.parameters), rest)?),
        None => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let meant = nearest::meant(name, &names);
            let has_shell = runs_any(turn) && names.contains(&SHELL);
            // A misspelled tool must not run as a program, but a program of that name must run.
            if !has_shell || (!meant.is_empty() && !is_program(turn, name)) {
                return Err(Error::not_found(unknown(name, &meant)));
            }
            (SHELL.to_owned(), json!({ "cmd": line }))
        }
    };
    let result = invoke(turn, tool, &arguments)?;
    Ok(match json::value(&result?) {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

fn invoke(turn: &Turn, tool: String, arguments: &Value) -> Result<Result<String>> {
    let call = ToolCall { id: None, name: tool, arguments: arguments.to_string() };
    let mut results = TOOLS.call(turn, &[call])?;
    results.pop().ok_or_else(|| Error::invalid("the command gave no result"))
}

/// Whether the shell has a program or builtin of that name.
fn is_program(turn: &Turn, name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    // Anything else is shell syntax.
    if name.starts_with('-') || !name.chars().all(is_plain) {
        return true;
    }
    let asked = invoke(turn, SHELL.to_owned(), &json!({ "cmd": format!("command -v {name}") }));
    asked.is_ok_and(|found| found.is_ok())
}

fn unknown(name: &str, meant: &[&str]) -> String {
    let meant: Vec<String> = meant.iter().map(|name| format!("`,{name}`")).collect();
    match meant.as_slice() {
        [] => format!("no command is called `{name}`; `,help` shows those that there are"),
        meant => format!("no command is called `{name}`; did you mean {}", meant.join(" or ")),
    }
}

/// Whether the channel is configured to pass unknown commands to the shell.
fn runs_any(turn: &Turn) -> bool {
    turn.get_json("_commands").is_some_and(|commands| json::value(&commands) == "all")
}

#[cfg(test)]
mod tests {
    use super::{arguments, words};
    use serde_json::{Map, Value, json};

    const EDGES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/edges.json"));

    /// The recorded lines with the original's results. Others contain Python's `NaN`, which is not JSON.
    fn recorded() -> Vec<Value> {
        let (_, list) = EDGES.split_once("\"command_grammar\": ").unwrap();
        let cases = serde_json::Deserializer::from_str(list).into_iter::<Vec<Value>>().next().unwrap().unwrap();
        assert!(!cases.is_empty());
        cases
    }

    /// Positional and named arguments as in the original. Here the schema names positional ones.
    fn as_original(arguments: &Value) -> Value {
        let (mut in_order, mut named) = (Vec::new(), Map::new());
        for (key, value) in arguments.as_object().unwrap() {
            match key.strip_prefix("place ") {
                Some(_) => in_order.push(value.clone()),
                None => drop(named.insert(key.clone(), value.clone())),
            }
        }
        json!({ "pos": in_order, "kw": named })
    }

    #[test]
    fn lines_are_read_as_the_original_reads_them() {
        let schema = json!({ "properties": { "place 0": { "type": "string" }, "place 1": { "type": "string" } } });
        for case in recorded() {
            let line = case["input"].as_str().unwrap();
            let read = words::split(line);
            let Some(expected) = case.get("ok") else {
                assert!(read.is_err(), "{case}: {read:?}");
                continue;
            };
            let read = read.unwrap();
            // An intended difference: the original parses a command with an empty name, which fails at lookup; here
            // there is none.
            let name = read.first().map_or("", String::as_str);
            let rest = read.get(1..).unwrap_or_default();
            let arguments = arguments::of(name, &schema, rest).unwrap();
            assert_eq!(json!([name, rest, as_original(&arguments)]), *expected, "{line}");
        }
    }
}
