//! `,context`: shows and changes the options of this session.

use crate::bub::tape::entries::Draft;
use crate::bub::tools::schema::{Effect, ToolSpec};
use crate::bub::turn::turn::Turn;
use crate::options::{self, KEYS, Key, Options};
use crate::{Error, ErrorKind, SELECTED, configured, pin, source};
use serde_json::{Map, Value, json};

/// The event with all options that the session has set.
pub const EVENT: &str = "context.settings";

pub const NAME: &str = "context";

/// The name of this selector.
const NAMED: &str = "context-builder";

pub fn spec() -> ToolSpec {
    let mut properties = Map::new();
    properties.insert(
        "action".to_owned(),
        json!({ "type": "string", "description": "`show`; `set`, with options behind it; `reset`, to what is configured; `done`, which ends the pinned goal [default: show]." }),
    );
    properties.extend(KEYS.iter().map(|key| (key.name.to_owned(), key.schema())));
    ToolSpec {
        name: NAME.to_owned(),
        description: "Show how the context of this session is built, or change it: `,context set KEY=VALUE`."
            .to_owned(),
        parameters: json!({ "type": "object", "properties": properties }).to_string(),
        for_model: false,
        effect: Effect::Write,
        reads_outside: false,
    }
}

pub fn call(turn: &Turn, arguments: &Map<String, Value>) -> Result<String, Error> {
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
                session.insert(key.clone(), Key::named(&key).and_then(|key| key.accept(value)).map_err(invalid)?);
            }
            // Validated together: shares that are valid separately may exceed 100 percent.
            Options::read(configured, &session).map_err(invalid)?;
            write(turn, &session)?;
            show(&session)
        }
        ("reset", true) => {
            write(turn, &Map::new())?;
            show(&Map::new())
        }
        ("set", true) => {
            Err(invalid("`set` needs an option and a value, as in `,context set total_budget=32000`".to_owned()))
        }
        ("show" | "reset" | "done", false) => {
            Err(invalid("options stand behind `set`, as in `,context set total_budget=32000`".to_owned()))
        }
        (other, _) => Err(invalid(format!("`{other}` is no action: there are `show`, `set`, `reset` and `done`"))),
    }
}

/// The latest selection of the session: cuts, omissions and the goal.
fn latest(turn: &Turn) -> Result<String, Error> {
    let entry = turn.tape()?.query(&source::newest_events(SELECTED, 1))?.next(1)?.pop();
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

fn write(turn: &Turn, session: &Map<String, Value>) -> Result<(), Error> {
    append(turn, EVENT, &session.clone().into())
}

fn append(turn: &Turn, name: &str, data: &Value) -> Result<(), Error> {
    let payload = json!({ "name": name, "data": data }).to_string();
    let draft = Draft { kind: "event".to_owned(), payload, meta: r#"{"context": false}"#.to_owned() };
    turn.tape()?.append(&[draft]).map(drop)
}

/// The options that the session has set.
pub fn session(turn: &Turn) -> Result<Map<String, Value>, Error> {
    let entry = turn.tape()?.query(&source::newest_events(EVENT, 1))?.next(1)?.pop();
    Ok(entry.and_then(|entry| source::data(&entry)?.as_object().cloned()).unwrap_or_default())
}

/// One line per option, with a star for the session's own.
fn show(session: &Map<String, Value>) -> Result<String, Error> {
    let values = options::values(configured, session).map_err(invalid)?;
    let line = |key: &Key| {
        let star = if session.contains_key(key.name) { '*' } else { ' ' };
        format!("{star} {} = {}", key.name, values[key.name])
    };
    Ok(KEYS.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn invalid(message: String) -> Error {
    Error { kind: ErrorKind::InvalidInput, message, details: None }
}
