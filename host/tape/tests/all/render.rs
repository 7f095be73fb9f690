use bub_tape::{Entry, Renderer, json, view};

use super::{Room, edges, message, string};

fn entry(kind: &str, payload: &str) -> Entry {
    Entry { id: 1, kind: kind.into(), payload: payload.into(), meta: "{}".into(), date: "D".into() }
}

fn rendered(entries: &[(&str, &str)]) -> Vec<String> {
    let mut renderer = Renderer::new();
    entries.iter().for_each(|(kind, payload)| renderer.push(&entry(kind, payload)));
    renderer.finish()
}

#[test]
fn entries_become_the_messages_that_bub_makes_of_them() {
    for case in edges("context") {
        let name = string(&case, "name");
        if name == "unserialisable result" {
            // Objects of Python, which no tape can hold.
            continue;
        }
        let entries = json::elements(json::get(&case, "input").unwrap()).unwrap();
        let entries: Vec<(String, &str)> =
            entries.iter().map(|entry| (string(entry, "kind"), json::get(entry, "payload").unwrap())).collect();
        let entries: Vec<(&str, &str)> = entries.iter().map(|(kind, payload)| (kind.as_str(), *payload)).collect();
        let messages: Vec<String> =
            rendered(&entries).iter().map(|message| json::normalise(message).unwrap()).collect();
        let expected = json::elements(json::get(&case, "ok").unwrap()).unwrap();
        let expected: Vec<String> = expected.iter().map(|message| json::normalise(message).unwrap()).collect();
        assert_eq!(messages, expected, "{name}");
    }
}

#[test]
fn an_anchor_shows_its_state() {
    let messages = rendered(&[
        ("anchor", r#"{"name": "phase \"2\"", "state": {"k":"你","n":1e-7}}"#),
        ("anchor", r#"{"name": "bare"}"#),
        ("system", r#"{"content": "s"}"#),
        ("event", r#"{"name": "e"}"#),
        ("error", r#"{"kind": "k"}"#),
        ("marvel", "{}"),
    ]);
    assert_eq!(
        messages,
        [
            r#"{"role": "assistant", "content": "[Anchor created: phase \"2\"]: {\"k\": \"你\", \"n\": 1e-07}"}"#,
            r#"{"role": "assistant", "content": "[Anchor created: bare]: null"}"#,
        ]
    );
}

#[test]
fn a_message_between_a_call_and_its_result_leaves_them_paired() {
    let mut renderer = Renderer::new();
    renderer
        .push(&entry("tool_call", r#"{"calls": [{"id": "1", "function": {"name": "f"}}, {"id": "", "function": 3}]}"#));
    renderer.push_message(r#"{"role":"user","content":"x"}"#).unwrap();
    assert!(renderer.push_message("[]").is_err());
    renderer.push(&entry("tool_result", r#"{"results": ["a", 2]}"#));
    assert_eq!(
        renderer.finish()[1..],
        [
            r#"{"role": "user", "content": "x"}"#,
            r#"{"role": "tool", "content": "a", "tool_call_id": "1", "name": "f"}"#,
            r#"{"role": "tool", "content": "2"}"#,
        ]
    );
}

#[tokio::test]
async fn a_view_begins_with_the_latest_anchor_itself_and_leaves_out_session_start() {
    let room = Room::new();
    let tape = room.tape();
    assert!(tape.bootstrap().await.unwrap());
    assert!(!tape.bootstrap().await.unwrap());
    tape.append(vec![message("user", "one")]).await.unwrap();
    let kinds = async || {
        let window = view::window(&tape).await.unwrap();
        window.iter().map(|entry| entry.kind.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(kinds().await, ["event", "message"]);
    tape.handoff("phase", Some("{\"summary\": 1}")).await.unwrap();
    assert_eq!(kinds().await, ["anchor", "event"]);
    let hidden = message("user", "hidden").with_meta("context", "false").unwrap();
    tape.append(vec![hidden, message("user", "seen")]).await.unwrap();
    assert_eq!(kinds().await, ["anchor", "event", "message"]);
}

#[tokio::test]
async fn no_view_begins_at_a_section_or_shows_its_anchors() {
    let room = Room::new();
    let tape = room.tape();
    tape.bootstrap().await.unwrap();
    let [zone, _] = bub_tape::handoff("notes/open", None).unwrap();
    let [old_zone, _] = bub_tape::handoff("memory/open", None).unwrap();
    let zone = zone.with_meta("zone", "true").unwrap();
    tape.append(vec![message("user", "one"), zone, old_zone, message("user", "two")]).await.unwrap();
    let window = view::window(&tape).await.unwrap();
    assert_eq!(super::ids(&window), [2, 3, 6]);
    assert_eq!(tape.last_anchor(None, None).await.unwrap().unwrap().id, 1);
    assert_eq!(tape.last_anchor(Some("notes/open"), None).await.unwrap().unwrap().id, 4);
    assert_eq!(tape.last_anchor(Some("memory/open"), Some(5)).await.unwrap(), None);
    let info = tape.info().await.unwrap();
    assert_eq!((info.entries, info.anchors, info.entries_since_last_anchor), (6, 1, 5));
    assert_eq!(info.last_anchor.as_deref(), Some("session/start"));
}
