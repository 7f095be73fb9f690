//! A plugin with most parts: its manifest, and its functions against the fakes.

use bub_guest::grant::Grant;
use bub_guest::hook::{Provider, ToolDecision};
use bub_guest::model::{Event, Request, Sink};
use bub_guest::tape::{Draft, Query};
use bub_guest::view::Selected;
use bub_guest::{
    Context, ErrorKind, Principal, Prompt, Result, Schema, SystemPart, ToolCall, Turn, View, config, log, test, tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

bub_guest::plugin! {
    about: "Keeps \"notes\".",
    config: Settings,
    after_turn: "selected",
    grants: {
        /// to read
        /// the notes
        pub TAPE: TapeRead,
        /// to write notes
        APPEND: TapeAppend,
        /// to summarise
        MODEL: Model("test:*"),
        /// to run programs
        SHELL: Process,
        /// to call other tools
        TOOLS: Tools("other.*"),
        _FILES: Directory("<workspace>:ro"),
    },
    hooks: {
        /// to show the notes
        system_prompt: show,
        /// to guard them
        before_tool_call: guard,
        selector: last,
        provider: Parrot,
        load_state: state,
    },
    tools: [add, nested::summarise],
}

/// The settings.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The heading.
    #[serde(default)]
    heading: Option<String>,
}

#[derive(Deserialize, Schema)]
struct Note {
    /// The text.
    text: String,
}

/// Add a note.
/// It is kept.
#[tool(name = "notes.add", effect = write)]
fn add(turn: &Turn, note: Note) -> Result<String> {
    let tape = turn.tape(TAPE)?;
    let id = tape.writer(APPEND).append(&[Draft::event("note", &json!({ "text": note.text }))])?;
    log::info(format!("note {id}"));
    Ok(format!("noted: {}", note.text))
}

mod nested {
    use super::*;

    /// Summarise the notes.
    #[tool(effect = read, reads_outside, for_people)]
    pub fn summarise(turn: &Turn) -> Result<Value> {
        let query = Query { name: Some("note".to_owned()), ..Query::default() };
        let notes = turn.tape(super::TAPE)?.query(&query)?.next(10)?;
        let text: Vec<String> = notes.iter().map(|note| note.json()["data"]["text"].to_string()).collect();
        let summary = MODEL.ask(turn, &Request::question("summary", &text.join("\n"))).context("the summary")?;
        Ok(json!({ "summary": summary, "notes": notes.len() }))
    }
}

fn show(_turn: &Turn, _prompt: Prompt) -> Result<Vec<SystemPart>> {
    let settings: Settings = config::load()?;
    Ok(settings.heading.map(|heading| SystemPart::new("notes", heading)).into_iter().collect())
}

fn guard(turn: &Turn, call: ToolCall) -> Result<ToolDecision> {
    Ok(match turn.principal() {
        Principal::Owner => ToolDecision::Proceed,
        _ => ToolDecision::Deny(format!("`{}` is for the owner", call.name)),
    })
}

fn last(view: &View) -> Result<Selected> {
    Ok(Selected::entries(view.tail(None, 2)?.iter().map(|entry| entry.id)))
}

fn state(turn: &Turn) -> Result<Option<Value>> {
    Ok(Some(json!({ "length": turn.message().content.len() })))
}

struct Parrot;

impl Provider for Parrot {
    const NAME: &'static str = "parrot";

    fn complete(request: Request, sink: &Sink) -> Result<()> {
        let last = request.messages.last().context("there is no message")?;
        let message: Value = serde_json::from_str(last)?;
        sink.send(&Event::Text(message["content"].as_str().unwrap_or_default().to_owned()))
    }
}

#[test]
fn the_manifest_is_made_of_the_code() {
    let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    assert_eq!(manifest["name"], "bub-guest");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&manifest["about"], &manifest["after_turn"]), (&json!("Keeps \"notes\"."), &json!("selected")));
    let wants: Vec<(&str, &str)> = manifest["wants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|want| (want["grant"].as_str().unwrap(), want["why"].as_str().unwrap()))
        .collect();
    let expected = [
        ("hook:system-prompt", "to show the notes"),
        ("hook:before-tool-call", "to guard them"),
        ("hook:selector", ""),
        ("hook:provider", ""),
        ("hook:load-state", ""),
        ("tape:read", "to read the notes"),
        ("tape:append", "to write notes"),
        ("model:test:*", "to summarise"),
        ("process", "to run programs"),
        ("tools:other.*", "to call other tools"),
        ("fs:<workspace>:ro", ""),
    ];
    assert_eq!(wants, expected);
    let schema = json!({
        "type": "object",
        "properties": {
            "heading": { "anyOf": [{ "type": "string" }, { "type": "null" }], "description": "The heading." },
        },
        "additionalProperties": false,
        "description": "The settings.",
    });
    assert_eq!(manifest["config_schema"], schema);
    let parameters = json!({
        "type": "object",
        "properties": { "text": { "type": "string", "description": "The text." } },
        "required": ["text"],
    });
    let tools = json!([
        {
            "name": "notes.add", "description": "Add a note. It is kept.", "parameters": parameters,
            "effect": "write", "reads_outside": false, "for_model": true,
        },
        {
            "name": "summarise", "description": "Summarise the notes.",
            "parameters": { "type": "object", "properties": {} },
            "effect": "read", "reads_outside": true, "for_model": false,
        },
    ]);
    assert_eq!(manifest["tools"], tools);
    assert_eq!(manifest["provider"], json!({ "name": "parrot" }));
    assert_eq!((manifest.get("commands"), manifest.get("channel")), (None, None));
    assert_eq!(MODEL.grant(), "model:test:*");
}

#[test]
fn tools_run_against_the_tape_and_the_model() {
    let host = test::Host::new().model(|request| Ok(format!("{} of {}", request.purpose, request.messages.len())));
    assert_eq!(host.call::<add>(json!({ "text": "one" })).unwrap(), "noted: one");
    assert_eq!(host.entries()[0].json()["data"]["text"], "one");
    assert_eq!(host.logged()[0].1, "note 1");
    let summary = host.call::<nested::summarise>(json!({})).unwrap();
    assert_eq!(summary, json!({ "summary": "summary of 1", "notes": 1 }));
    assert!(host.model_calls()[0].messages[0].contains("one"));
}

#[test]
fn wrong_arguments_are_named_and_grants_can_be_missing() {
    let host = test::Host::new().without("tape:*");
    let error = host.call::<add>(json!({})).unwrap_err();
    assert_eq!(error.message, "the arguments of `notes_add`: missing field `text`");
    let error = host.call::<add>(json!({ "text": "a" })).unwrap_err();
    assert_eq!((error.kind, error.message.contains("`tape:read`")), (ErrorKind::Denied, true));
    let host = test::Host::new();
    let error = host.call::<nested::summarise>(json!({})).unwrap_err();
    assert_eq!(error.message, "the summary: the test's host has no model");
}

#[test]
fn hooks_are_functions() {
    let host = test::Host::new().config(json!({ "heading": "Notes:" })).message("abc");
    assert_eq!(show(&host.turn(), Prompt::Text(String::new())).unwrap()[0].text, "Notes:");
    assert_eq!(state(&host.turn()).unwrap(), Some(json!({ "length": 3 })));
    let call = || ToolCall { id: None, name: "notes_add".to_owned(), arguments: "{}".to_owned() };
    assert_eq!(guard(&host.turn(), call()).unwrap(), ToolDecision::Proceed);
    let host = test::Host::new().principal(Principal::Anonymous);
    assert!(matches!(guard(&host.turn(), call()).unwrap(), ToolDecision::Deny(_)));
    assert!(show(&host.turn(), Prompt::Text(String::new())).unwrap().is_empty());
}

#[test]
fn a_selector_sees_the_window_and_a_provider_has_a_sink() {
    let host = test::Host::new()
        .entry("message", json!({ "content": "before" }))
        .entry("anchor", json!({ "name": "phase" }))
        .entry("message", json!({ "content": "after" }));
    let view = host.view();
    assert_eq!(view.next(10).unwrap().len(), 2);
    assert_eq!(last(&view).unwrap(), Selected::entries([2, 3]));
    Parrot::complete(Request::question("turn", "hello"), &host.sink()).unwrap();
    assert_eq!(host.sent(), [Event::Text("hello".to_owned())]);
}

#[test]
fn a_fork_is_written_when_it_is_merged_and_only_once() {
    let host = test::Host::new();
    let tape = host.turn().tape(TAPE).unwrap();
    let fork = tape.fork().unwrap();
    fork.writer(APPEND).handoff("phase", &json!({ "a": 1 })).unwrap();
    assert!(host.entries().is_empty());
    fork.merge().unwrap();
    assert_eq!(host.entries().len(), 2);
    assert!(fork.merge().is_err());
    assert_eq!(tape.last_anchor(Some("phase"), None).unwrap().unwrap().json()["state"]["a"], 1);
    assert_eq!(tape.writer(APPEND).append_if(7, &[]).unwrap_err().kind, ErrorKind::Conflict);
}

#[test]
fn programs_and_other_tools_are_fakes_too() {
    let spec = tool::spec::<add>(bub_guest::schema!(Note));
    let spec = tool::ToolSpec { name: "other.one".to_owned(), ..spec };
    let host = test::Host::new()
        .process(|command| (i32::from(command == "false"), format!("ran {command}")))
        .tool(spec, |arguments| Ok(json!([arguments["a"], 1])));
    let child = SHELL.spawn("false", None).unwrap();
    assert_eq!(child.wait(0).unwrap().exit_code, Some(1));
    assert_eq!(SHELL.find("nothing").unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(SHELL.find(&child.id()).unwrap().read(4, 3).unwrap().output, "fal");
    let call = |name: &str| ToolCall { id: None, name: name.to_owned(), arguments: r#"{"a":2}"#.to_owned() };
    let results = TOOLS.call(&host.turn(), &[call("other.one"), call("other.two")]).unwrap();
    assert_eq!(results[0], Ok("[2,1]".to_owned()));
    assert_eq!(results[1].as_ref().unwrap_err().kind, ErrorKind::NotFound);
}
