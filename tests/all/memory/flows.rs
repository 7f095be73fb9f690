//! The data flows of the design.

use super::{SESSION, bubs, call, entries, keeping, kept, plant, zone};
use bub_tests::{Answer, Server};
use serde_json::{Value, json};

/// Kind, name and state or data of the entries in the design's figures: anchors, messages, tool calls and memory.
/// Other entries of the loop are skipped.
fn shown(entries: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown = entries.iter().filter_map(|entry| {
        let (kind, payload) = (text(&entry["kind"]), &entry["payload"]);
        let name = text(&payload["name"]);
        let what = match kind.as_str() {
            "anchor" if name == "session/start" => name,
            "anchor" => format!("{name} {}", payload["state"]),
            "event" if name.starts_with("memory.") => {
                let data = &payload["data"];
                let date = data["date"].as_str().map_or_else(String::new, |date| format!("{date} "));
                format!("{name} {date}{}", text(&data["content"]))
            }
            "message" => format!("{} {}", text(&payload["role"]), text(&payload["content"]).lines().last()?),
            "tool_call" => text(&payload["calls"][0]["function"]["name"]),
            "tool_result" => text(&payload["results"][0]),
            _ => return None,
        };
        Some((kind, what))
    });
    shown.collect()
}

fn lines(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    lines.iter().map(|(kind, what)| ((*kind).to_owned(), (*what).to_owned())).collect()
}

#[test]
fn a_new_session_has_its_start_and_no_section() {
    let home = keeping();
    let server = Server::new([Answer::text("Hi! How can I help?")]);
    home.run(["hello"]).model(&server).finish().says("[cli:local]\nHi! How can I help?\n");
    let entries = entries(&home, SESSION);
    let ids: Vec<u64> = entries.iter().filter_map(|entry| entry["id"].as_u64()).collect();
    assert_eq!(ids, (1..=entries.len() as u64).collect::<Vec<_>>());
    let expected =
        [("anchor", "session/start"), ("message", "user hello"), ("message", "assistant Hi! How can I help?")];
    assert_eq!(shown(&entries), lines(&expected));
    assert!(kept(&home, SESSION).is_empty());
}

#[test]
fn memory_is_a_section_of_the_sidecar_and_the_tape_has_the_conversation_only() {
    let home = keeping();
    let server = Server::new([
        Answer::text("Hi!"),
        Answer::tool_call("memory_save", r#"{"content":"User likes Python","scope":"session"}"#),
        Answer::text("Got it, I'll remember that!"),
    ]);
    home.run(["hello"]).model(&server).finish().says("[cli:local]\nHi!\n");
    let finished = home.run(["remember: I like Python"]).model(&server).finish();
    finished.says("[cli:local]\nGot it, I'll remember that!\n");
    let expected = [
        ("anchor", "session/start"),
        ("message", "user hello"),
        ("message", "assistant Hi!"),
        ("message", "user remember: I like Python"),
        ("tool_call", "memory_save"),
        ("tool_result", "saved to long-term memory"),
    ];
    let told = shown(&entries(&home, SESSION));
    assert_eq!(told[..expected.len()], lines(&expected));
    assert_eq!(told.last(), lines(&[("message", "assistant Got it, I'll remember that!")]).first());
    let zone = kept(&home, SESSION);
    let expected = [
        ("anchor", r#"memory/open {"version":1}"#),
        ("event", "memory.long_term User likes Python"),
        ("anchor", r#"memory/seal {"version":1}"#),
    ];
    assert_eq!(shown(&zone), lines(&expected));
    for anchor in [&zone[0], &zone[2]] {
        assert_eq!(anchor["meta"], json!({ "zone": true, "plugin": "memory" }));
    }
    // The conversation from before the section is in the next request.
    let last = server.requests().pop().expect("it was asked").body;
    assert!(last.contains("hello") && last.contains("Hi!") && !last.contains("memory/open"), "{last}");
}

#[test]
fn the_next_days_note_follows_those_of_earlier_days() {
    let home = keeping();
    let data = |data: Value| json!({ "name": "memory.daily", "data": data });
    let long_term = json!({ "name": "memory.long_term", "data": { "content": "User likes Python", "updated_at": "" } });
    plant(
        &home,
        SESSION,
        &[
            ("anchor", json!({ "name": "session/start", "state": { "owner": "human" } }), json!({})),
            bubs("open", 2),
            ("event", long_term, json!({})),
            ("event", data(json!({ "date": "2026-02-09", "content": "...", "updated_at": "" })), json!({})),
            bubs("seal", 2),
        ],
    );
    call(&home, "memory.daily", &json!({ "content": "- done", "date": "2026-02-10", "scope": "session" }));
    let expected = [
        ("anchor", r#"memory/open {"version":3}"#),
        ("event", "memory.long_term User likes Python"),
        ("event", "memory.daily 2026-02-09 ..."),
        ("event", "memory.daily 2026-02-10 # 2026-02-10\n\n- done"),
        ("anchor", r#"memory/seal {"version":3}"#),
    ];
    assert_eq!(shown(&zone(&home, SESSION)), lines(&expected));
}
