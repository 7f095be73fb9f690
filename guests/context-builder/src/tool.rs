//! `,context`: shows and changes the options of this session.

use crate::options::{self, ANY, KEYS, Key, Options};
use crate::{EVENTS, SELECTED, TAPE, configured, pin, source};
use bub_guest::schema::{Field, Literal, Node, Object};
use bub_guest::tape::Draft;
use bub_guest::{Error, Result, Schema, Turn, tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The event with all options that the session has set.
pub const EVENT: &str = "context.settings";

/// The name under which this plugin selects.
const NAMED: &str = "context-builder";

/// The action, and the options behind `set`. The plugin itself checks their values, so that it can say what they must
/// be.
#[derive(Deserialize)]
pub struct Arguments(Map<String, Value>);

impl Schema for Arguments {
    const NODE: Node = Node::Object(&Object { about: &[], fields: &FIELDS, closed: false });
}

const FIELDS: [Field; 1 + ANY.len()] = {
    let mut fields = [ACTION; 1 + ANY.len()];
    let mut at = 0;
    while at < ANY.len() {
        fields[at + 1] = ANY[at];
        at += 1;
    }
    fields
};

const ACTION: Field = Field {
    name: "action",
    about: &[
        "`show`; `set`, with options behind it; `reset`, to what is configured; `done`, which ends the pinned goal.",
    ],
    node: Node::String,
    required: false,
    rules: &[],
    default: Some(Literal::Text("show")),
};

/// Show how the context of this session is built, or change it: `,context set KEY=VALUE`.
#[tool(effect = write, for_people)]
pub fn context(turn: &Turn, Arguments(arguments): Arguments) -> Result<String> {
    let given: Map<String, Value> =
        arguments.iter().filter(|(key, _)| *key != "action").map(|(key, value)| (key.clone(), value.clone())).collect();
    match (arguments.get("action").and_then(Value::as_str).unwrap_or("show"), given.is_empty()) {
        ("show", true) => Ok(format!("{}\n{}", show(&session(turn)?)?, latest(turn)?)),
        ("done", true) => {
            append(turn, pin::DONE, &json!({ "done": true }))?;
            Ok("The task is done: its goal is no longer pinned.".to_owned())
        }
        ("set", false) => {
            let mut session = session(turn)?;
            for (key, value) in given {
                session
                    .insert(key.clone(), Key::named(&key).and_then(|key| key.accept(value)).map_err(Error::invalid)?);
            }
            // All together: shares that are right one by one may be too much.
            Options::read(configured, &session).map_err(Error::invalid)?;
            write(turn, &session)?;
            show(&session)
        }
        ("reset", true) => {
            write(turn, &Map::new())?;
            show(&Map::new())
        }
        ("set", true) => {
            Err(Error::invalid("`set` needs an option and a value, as in `,context set total_budget=32000`".to_owned()))
        }
        ("show" | "reset" | "done", false) => {
            Err(Error::invalid("options stand behind `set`, as in `,context set total_budget=32000`".to_owned()))
        }
        (other, _) => {
            Err(Error::invalid(format!("`{other}` is no action: there are `show`, `set`, `reset` and `done`")))
        }
    }
}

/// Describes the latest selection of the session: what was cut, what is not shown, and the goal.
fn latest(turn: &Turn) -> Result<String> {
    let entry = turn.tape(TAPE)?.query(&source::newest_events(SELECTED, 1))?.next(1)?.pop();
    let Some(notes) = entry.as_ref().and_then(source::data).filter(|notes| notes["selector"] == NAMED) else {
        return Ok("nothing was selected yet".to_owned());
    };
    let metadata = &notes["metadata"];
    let tokens = |value: &Value| value.as_u64().unwrap_or_default();
    let mut lines = vec![format!(
        "latest request: {} of {} tokens",
        tokens(&notes["tokenStats"]["total"]),
        tokens(&metadata["budget"])
    )];
    for cut in notes["cuts"].as_array().into_iter().flatten() {
        let part = cut["part"].as_str().unwrap_or_default();
        lines.push(format!(
            "cut: {part} of the system prompt, from {} to {} tokens",
            tokens(&cut["tokens"]),
            tokens(&cut["kept"])
        ));
    }
    let ranges = metadata["notShown"].as_array().into_iter().flatten().map(|range| {
        let (from, to) = (tokens(&range[0]), tokens(&range[1]));
        if from == to { from.to_string() } else { format!("{from}-{to}") }
    });
    let ranges = ranges.collect::<Vec<_>>().join(", ");
    if !ranges.is_empty() {
        lines.push(format!("not shown: entries {ranges} of the tape"));
    }
    if let Some(goal) = metadata["goal"].as_str() {
        lines
            .push(format!("goal: {} (`,context done` ends it)", goal.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    Ok(lines.join("\n"))
}

fn write(turn: &Turn, session: &Map<String, Value>) -> Result<()> {
    append(turn, EVENT, &session.clone().into())
}

fn append(turn: &Turn, name: &str, data: &Value) -> Result<()> {
    let draft = Draft { meta: r#"{"context": false}"#.to_owned(), ..Draft::event(name, data) };
    turn.tape(TAPE)?.writer(EVENTS).append(&[draft]).map(drop)
}

/// The options that the session has set.
pub fn session(turn: &Turn) -> Result<Map<String, Value>> {
    let entry = turn.tape(TAPE)?.query(&source::newest_events(EVENT, 1))?.next(1)?.pop();
    Ok(entry.and_then(|entry| source::data(&entry)?.as_object().cloned()).unwrap_or_default())
}

/// A line for each option, and a star where the session has its own.
fn show(session: &Map<String, Value>) -> Result<String> {
    let values = options::values(configured, session).map_err(Error::invalid)?;
    let line = |key: &Key| {
        let star = if session.contains_key(key.name) { '*' } else { ' ' };
        format!("{star} {} = {}", key.name, values[key.name])
    };
    Ok(KEYS.iter().map(line).collect::<Vec<_>>().join("\n"))
}
