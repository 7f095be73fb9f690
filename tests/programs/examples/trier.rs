//! Tries what its configuration names, and says in the log what it got: `report` is a list of `{ grant, ok }` or
//! `{ grant, kind, message }`. Once in `run-model`, and with `again = true` once more in `render-outbound`; between the
//! two it asks the server at `hold`, which answers when the test wants it to.
//!
//! `tries` lists the attempts, each as its grant: `tape:append`, `http:http://127.0.0.1:80`, `fs:PATH:rw`, ... Beside
//! them there is `dump`: everything that a guest can see.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/trier", generate_all });

#[path = "../outside.rs"]
mod outside;

use bub::context::view::View;
use bub::model::exchange::{Event, Request};
use bub::model::{chat, usage};
use bub::plugin::{config, log, secrets};
use bub::process::process;
use bub::tape::entries::{Draft, Query, Start};
use bub::tape::tape::Tape;
use bub::tools::toolbox;
use bub::turn::stages;
use bub::turn::subturn;
use bub::turn::turn::Turn;
use bub::types::types::{Envelope, Error, ErrorKind, Prompt, ToolCall};
use exports::bub::context::selector::{Part, Selected};
use serde_json::{Value, json};

struct Trier;

impl exports::bub::hooks::run_model::Guest for Trier {
    fn run_model(turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        report("run-model", &turn);
        if let Some(url) = setting("hold").as_str() {
            outside::get(url, &[], "").map_err(|code| failure(&code))?;
        }
        Ok(Some("tried".to_owned()))
    }
}

impl exports::bub::hooks::render_outbound::Guest for Trier {
    fn render_outbound(turn: Turn, _model_output: String) -> Result<Vec<Envelope>, Error> {
        if setting("again") == true {
            report("render-outbound", &turn);
        }
        Ok(Vec::new())
    }
}

/// The dump asks it through the host: it selects everything, and logs its view.
impl exports::bub::context::selector::Guest for Trier {
    fn select(view: View) -> Result<Selected, Error> {
        let entries = view.next(256)?;
        let text: Vec<String> = entries.iter().map(|entry| format!("{} {}", entry.payload, entry.meta)).collect();
        let found = view.search("key", 256, 1_000)?.len();
        let (system, model) = (view.system_prompt(), view.model());
        say(&format!("view: {text:?} {found} {system} {model} {:?} {:?}", view.prompt(), view.state("_key")));
        let history = entries.iter().map(|entry| Part::Entry(entry.id)).collect();
        Ok(Selected { system_prompt: None, before: Vec::new(), history, after: Vec::new(), notes: "{}".to_owned() })
    }
}

fn report(hook: &str, turn: &Turn) {
    let tries = setting("tries");
    let report: Vec<Value> = tries
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|grant| match attempt(turn, grant) {
            Ok(got) => json!({ "grant": grant, "ok": got }),
            Err(error) => json!({
                "grant": grant,
                "kind": format!("{:?}", error.kind).replace("ErrorKind::", ""),
                "message": error.message,
            }),
        })
        .collect();
    let line = json!({ "plugin": "trier", "hook": hook, "report": report });
    // A line of the log is bounded: one a try.
    for one in line["report"].as_array().into_iter().flatten() {
        log::log(log::Level::Info, &format!("saw:{}", json!({ "plugin": "trier", "hook": hook, "try": one })));
    }
}

fn attempt(turn: &Turn, grant: &str) -> Result<String, Error> {
    let (kind, behind) = grant.split_once(':').unwrap_or((grant, ""));
    match (kind, behind) {
        ("tape", "read") => Ok(turn.tape()?.name()),
        ("tape", "event") => append(&turn.tape()?, "event", json!({ "name": "tried", "data": {} })),
        ("event", name) => append(&turn.tape()?, "event", json!({ "name": name, "data": {} })),
        ("tape", "append") => append(&turn.tape()?, "message", json!({ "role": "user", "content": "forged" })),
        ("tape", "reset") => turn.tape()?.reset(false).map(|archive| archive.unwrap_or_default()),
        ("tape", "workspace") => Ok(turn.workspace_tape()?.name()),
        ("shared", _) => append(&turn.workspace_tape()?, "event", json!({ "name": "tried", "data": {} })),
        ("model", model) => ask(turn, model),
        ("tools", tool) => use_tool(turn, tool),
        // Needs the grant `agent`: a turn in that session.
        ("session", name) => begin_turn(turn, name),
        ("agent", _) => stages::system_prompt(turn, &Prompt::Text("tried".to_owned())),
        ("http", host) => outside::get(&format!("{host}/tried"), &[], "").map_err(|code| failure(&code)),
        ("fs", path) => touch(path),
        ("process", _) => run(),
        ("secret", name) => tell(name),
        ("usage", _) => Ok(format!("{} models", usage::today()?.len())),
        ("dump", _) => Ok(dump(turn)),
        _ => Err(failure(&format!("`{grant}` is nothing that can be tried"))),
    }
}

fn append(tape: &Tape, kind: &str, payload: Value) -> Result<String, Error> {
    let draft = Draft { kind: kind.to_owned(), payload: payload.to_string(), meta: "{}".to_owned() };
    tape.append(&[draft]).map(|id| id.to_string())
}

fn ask(turn: &Turn, model: &str) -> Result<String, Error> {
    let completion = chat::complete(
        turn,
        &Request {
            model: Some(model.to_owned()),
            messages: vec![json!({ "role": "user", "content": "tried" }).to_string()],
            tools: Vec::new(),
            max_tokens: None,
            purpose: "trial".to_owned(),
            options: None,
        },
    )?;
    let mut said = String::new();
    while let Some(event) = completion.next()? {
        if let Event::Text(text) = event {
            said.push_str(&text);
        }
    }
    Ok(said)
}

fn begin_turn(turn: &Turn, session: &str) -> Result<String, Error> {
    let prompt = Prompt::Text("ECHO:begun".to_owned());
    let request =
        subturn::Request { prompt, session: Some(session.to_owned()), model: None, tools: None, skills: None };
    subturn::run(turn, &request)
}

fn use_tool(turn: &Turn, tool: &str) -> Result<String, Error> {
    let call = ToolCall { id: None, name: tool.to_owned(), arguments: "{}".to_owned() };
    toolbox::call_tools(turn, &[call])?.pop().unwrap_or_else(|| Err(failure("there is no result")))
}

/// `PATH:ro` reads `PATH/planted`, `PATH:rw` writes `PATH/written`. Read-only, writing is tried as well.
fn touch(path: &str) -> Result<String, Error> {
    let (dir, mode) = path.rsplit_once(':').unwrap_or((path, "ro"));
    let wrong = |error: std::io::Error| failure(&format!("{:?}", error.kind()));
    if mode == "rw" {
        return std::fs::write(format!("{dir}/written"), "by trier").map(|()| "written".to_owned()).map_err(wrong);
    }
    let read = std::fs::read_to_string(format!("{dir}/planted")).map_err(wrong)?;
    match std::fs::write(format!("{dir}/must-not-be"), "by trier") {
        Ok(()) => Err(failure("what is read-only was written to")),
        Err(_) => Ok(read),
    }
}

fn run() -> Result<String, Error> {
    let command = setting("command");
    let child = process::spawn(command.as_str().unwrap_or("true"), None)?;
    let output = child.wait(30_000)?;
    Ok(format!("{:?} {}", output.exit_code, output.output))
}

/// Uses the secret in all the ways that there are; the last is a request that carries it.
fn tell(name: &str) -> Result<String, Error> {
    let url = setting("echo");
    if let Some(url) = url.as_str() {
        let mark = format!("{{{{secret:{name}}}}}");
        let headers = [("authorization", format!("Bearer {mark}")), ("x-plain", "plain".to_owned())];
        let answer = outside::get(url, &headers, &format!("body with {mark}"));
        // Said by the import that has words for it; the request's own failure has a code only.
        secrets::placeholder(name)?;
        let signed = secrets::hmac_sha256(name, b"data")?;
        let answer = answer.unwrap_or_else(|code| format!("failed with {code}"));
        return Ok(format!("{answer}; {} bytes of signature", signed.len()));
    }
    secrets::matches(name, "planted-secret-value").map(|same| same.to_string())
}

/// Says everything that a guest can see.
fn dump(turn: &Turn) -> String {
    let keys = [
        "model",
        "fallback-models",
        "max-steps",
        "max-tokens",
        "api_key",
        "api-key",
        "keys",
        "BUB_API_KEY",
        "secrets",
        "secret",
        "env",
        "home",
        "config",
        "tries",
        "name",
        "headers",
        "api_base",
        "token",
        "password",
    ];
    let config: Vec<_> = keys.iter().map(|key| (key.to_string(), config::get(key))).collect();
    let message = turn.message();
    let mut seen = vec![
        format!("{:?}", std::env::vars().collect::<Vec<_>>()),
        format!("{:?}", std::env::args().collect::<Vec<_>>()),
        format!("{:?}", std::env::current_dir()),
        format!("{config:?}"),
        turn.state(),
        turn.workspace(),
        format!("{:?} {:?} {:?}", message.content, message.context, message.sender),
        format!("{:?}", turn.workspace_instructions("AGENTS.md")),
        format!("{:?}", std::fs::read_dir("/").map(|files| files.count()).map_err(|error| error.kind())),
        format!("{:?}", stages::system_prompt(turn, &Prompt::Text("tried".to_owned()))),
        format!("{:?}", stages::messages(turn, &Prompt::Text("tried".to_owned()), "", &[], None)),
    ];
    seen.extend(tape_text(turn));
    say(&seen.join(" "));
    format!("{} things", seen.len())
}

/// A line of the log is bounded, and nothing may hide where one ends.
fn say(text: &str) {
    let text: Vec<char> = text.chars().collect();
    for start in (0..text.len()).step_by(1_000) {
        let piece: String = text[start..text.len().min(start + 1_500)].iter().collect();
        log::log(log::Level::Info, &format!("dumped: {piece}"));
    }
}

fn tape_text(turn: &Turn) -> Option<String> {
    let query = Query {
        start: Start::First,
        kinds: Vec::new(),
        name: None,
        text: None,
        since: None,
        until: None,
        newest_first: false,
        limit: None,
    };
    let entries = turn.tape().ok()?.query(&query).ok()?.next(256).ok()?;
    Some(entries.iter().map(|entry| format!("{} {} {}\n", entry.kind, entry.payload, entry.meta)).collect())
}

fn setting(key: &str) -> Value {
    config::get(key).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn failure(message: &str) -> Error {
    Error { kind: ErrorKind::Unknown, message: message.to_owned(), details: None }
}

export!(Trier);
