//! Hostile strings, through all that the page shows: they stay text.

use super::{Play, packages};
use crate::home;
use crate::plugin_add::described;
use crate::serve::serve;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_tests::{Answer, Home, Request, Serve, Server, programs};
use serde_json::{Value, json};
use std::fs;

const CORPUS: &str = include_str!("../../../corpus/page-hostile.json");

/// The strings of the corpus; long ones are written there as a unit and a number.
fn corpus() -> Vec<String> {
    let entries: Vec<Value> = serde_json::from_str(CORPUS).expect("the corpus is a list");
    let string = |entry: &Value| match entry["unit"].as_str() {
        Some(unit) => unit.repeat(entry["times"].as_u64().expect("a number") as usize),
        None => entry["text"].as_str().expect("a text").to_owned(),
    };
    entries.iter().map(string).collect()
}

/// The message that asks for a string in some place: `PLACE NUMBER`, in its last line.
fn wanted(request: &Request) -> Option<(String, usize)> {
    let messages = request.messages();
    let user = messages.iter().rev().find(|message| message["role"] == "user")?["content"].as_str()?.to_owned();
    let (place, number) = user.lines().last()?.split_once(' ')?;
    Some((place.to_owned(), number.parse().ok()?))
}

/// A model that answers with hostile strings, and calls tools with them.
fn model(corpus: Vec<String>) -> Server {
    Server::ruled(move |request| {
        let messages = request.messages();
        let content = messages.last().map(|last| last["content"].as_str().unwrap_or_default().to_owned());
        let Some((place, number)) = wanted(request) else {
            // What a user said comes back as it is.
            let said = content.unwrap_or_default();
            let said = said.split_once("---\n").map_or(said.clone(), |(_, said)| said.to_owned());
            return Answer::counted(if said.is_empty() { "nothing" } else { &said }, 7);
        };
        let hostile = &corpus[number % corpus.len()];
        match place.as_str() {
            "file" => Answer::tool_call("fs_read", &json!({ "path": format!("{number}.txt") }).to_string()),
            "argument" => Answer::tool_call("fs_read", &json!({ "path": hostile }).to_string()),
            "unknown" => Answer::tool_call("fs_read", hostile),
            "shell" => Answer::tool_call("bash", &json!({ "cmd": hostile }).to_string()),
            _ => Answer::counted(hostile, 7),
        }
    })
}

/// Says what may be refused, but not with an error of the server.
#[track_caller]
fn say(serve: &Serve<'_>, session: &str, content: &str, media: &Value) -> bool {
    let body = json!({ "content": content, "session_id": session, "media": media });
    let said = serve.ask("POST", "/v1/turns").json(&body).send();
    assert!(said.status < 500, "{content:.100}: {said:?}");
    said.status == 200
}

/// Puts each string into each place; the sessions whose ids are strings of the corpus.
fn prepare(home: &Home, serve: &Serve<'_>, corpus: &[String]) -> Vec<String> {
    let none = json!([]);
    let mut taken = 0;
    for (number, hostile) in corpus.iter().enumerate() {
        fs::write(home.workspace().join(format!("{number}.txt")), hostile).expect("a file");
        taken += usize::from(say(serve, "http:hostile", hostile, &none));
        say(serve, "http:tools", &format!("{} {number}", ["file", "argument", "unknown"][number % 3]), &none);
        let quoted = hostile.replace('\\', "\\\\").replace('"', "\\\"");
        say(serve, "http:page", &format!(",memory.add content=\"{quoted}\""), &none);
    }
    assert!(taken > 50, "{taken} messages were taken");
    for names in corpus.chunks(15) {
        let file = |name: &String| json!({ "filename": name.chars().take(500).collect::<String>(), "mime_type": "text/plain", "url": format!("data:text/plain;base64,{}", STANDARD.encode("x")) });
        let media: Vec<Value> = names.iter().map(file).collect();
        say(serve, "http:files", "these files", &json!(media));
    }
    let mut sessions = Vec::new();
    for (number, hostile) in corpus.iter().enumerate().step_by(3) {
        let id: String = format!("http:{hostile}").chars().take(200).collect();
        if say(serve, &id, "hello", &none) {
            sessions.push(id.clone());
        }
        let named = format!("http:named-{number}");
        say(serve, &named, "hello", &none);
        let name: String = hostile.chars().take(100).collect();
        let path = format!("/v1/sessions/{named}/name");
        assert!(serve.ask("POST", &path).json(&json!({ "name": name })).send().status < 500);
    }
    sessions
}

#[test]
#[ignore = "plays the page in a browser"]
fn hostile_strings_stay_text_wherever_they_come_from() {
    let Some(packages) = packages() else { return };
    let (home, corpus) = (home().strict(), corpus());
    assert_eq!(corpus.len(), 60);
    home.configure("[policy]\napprove = \"ask\"\n");
    let plugins = home.bub_home().join("plugins");
    // About, version and reasons are the author's words; a file that is no component has any name.
    for (number, name) in ["constructor", "__proto__", "script"].into_iter().enumerate() {
        let why = |at: usize| corpus[(number * 17 + at) % corpus.len()].chars().take(300).collect::<String>();
        let manifest = json!({
            "version": why(0), "about": why(1),
            "wants": [{ "grant": "hook:build-prompt", "why": why(2) }, { "grant": "tape:read", "why": why(3) }],
        });
        fs::write(plugins.join(format!("{name}.wasm")), described(programs::PROMPT_UPPER, &manifest))
            .expect("a plugin");
    }
    fs::write(plugins.join("<img src=x onerror=globalThis.__pwned=1>.wasm"), "no component").expect("a file");
    let model = model(corpus.clone());
    let serve = serve(&home, &model);
    let sessions = prepare(&home, &serve, &corpus);
    assert!(sessions.len() > 5, "{sessions:?}");
    let play = Play::new(packages, "hostile", &home, &serve);
    play.with("SESSIONS", json!(sessions).to_string()).passes();
}
