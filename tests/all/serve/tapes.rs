//! Tapes over HTTP, by name and by session.

use super::{echo, say, serve};
use crate::home;
use serde_json::{Value, json};

#[test]
fn a_session_is_read_by_range_with_its_anchors_its_context_and_a_search() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for content in ["the heron eats fish", "and the stork", "what else"] {
        say(&serve, "http:birds", content);
    }
    let listed = serve.get("/v1/sessions");
    assert_eq!(listed["sessions"][0]["session_id"], "http:birds");
    let tape = listed["sessions"][0]["tape"].as_str().unwrap();
    assert_eq!(tape, home.tape_file("http:birds").file_stem().unwrap().to_str().unwrap());
    let session = "/v1/sessions/http%3Abirds";
    let about = serve.get(session);
    let entries = about["entries"].as_u64().unwrap();
    assert!(entries > 6, "{about}");
    let ids = |page: &Value| -> Vec<u64> {
        page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_u64().unwrap()).collect()
    };
    let first = serve.get(&format!("{session}/entries?after=0&max=3"));
    assert_eq!((ids(&first), &first["more"]), (vec![1, 2, 3], &json!(true)));
    let newest = serve.get(&format!("{session}/entries?max=2"));
    assert_eq!((ids(&newest), &newest["more"]), (vec![entries - 1, entries], &json!(true)));
    let before = serve.get(&format!("{session}/entries?before=3&max=9"));
    assert_eq!((ids(&before), &before["more"]), (vec![1, 2], &json!(false)));
    let all = serve.get(&format!("{session}/entries?after=0"));
    assert_eq!(ids(&all).len() as u64, entries);
    let anchors = serve.get(&format!("{session}/anchors"));
    assert_eq!(anchors["anchors"][0]["payload"]["name"], "session/start");
    let found = serve.get(&format!("{session}/search?q=heron&kind=message&max=1"));
    assert!(found["hits"][0]["entry"]["payload"]["content"].as_str().unwrap().contains("heron"), "{found}");
    let context = serve.get(&format!("{session}/context?prompt=and%20now"));
    let messages = context["messages"].as_array().unwrap();
    assert!(messages.last().unwrap()["content"].as_str().unwrap().ends_with("and now"), "{context}");
    let whole = serve.get(&format!("/v1/tapes/{tape}/context?selector=context-builder"));
    assert!(whole["messages"].as_array().unwrap().len() > 4, "{whole}");
    assert_eq!(model.requests().len(), 3, "no model was asked for a look");
}

#[test]
fn a_tape_by_its_name_comes_as_lines_or_as_json() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    let file = home.tape_file("http:a");
    let name = file.file_stem().unwrap().to_str().unwrap();
    let lines = serve.ask("GET", &format!("/v1/tapes/{name}/entries?after=0&max=256")).send();
    assert_eq!(lines.header("bub-more"), Some("false"));
    assert_eq!(lines.header("content-type"), Some("application/jsonl"));
    assert_eq!(lines.body, std::fs::read_to_string(&file).unwrap());
    let asked = serve.ask("GET", &format!("/v1/tapes/{name}/entries")).header("accept", "application/json").send();
    assert_eq!(asked.ok()["session_id"], "http:a");
    assert_eq!(serve.get("/v1/tapes")["names"], json!([name]));
    let about = serve.get(&format!("/v1/tapes/{name}"));
    assert_eq!(about["session_id"], "http:a");
}

#[test]
fn an_entry_that_is_json_in_pythons_sense_only_comes_as_its_line() {
    let (home, model) = (home(), echo());
    let line = r#"{"id": 1, "kind": "event", "payload": {"name": "odd", "data": {"n": NaN}}, "meta": {}, "date": "2026-01-01T00:00:00+00:00"}"#;
    std::fs::create_dir_all(home.tapes_dir()).unwrap();
    std::fs::write(home.tape_file("http:odd"), format!("{line}\n")).unwrap();
    let serve = serve(&home, &model);
    let entries = serve.get("/v1/sessions/http:odd/entries");
    assert_eq!(entries["entries"][0]["line"], line);
}

#[test]
fn a_session_is_known_again_after_a_start() {
    let (home, model) = (home(), echo());
    let first = serve(&home, &model);
    say(&first, "http:kept", "hello");
    first.end();
    let second = serve(&home, &model);
    assert_eq!(second.get("/v1/sessions")["sessions"][0]["session_id"], "http:kept");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let (home, model) = (home(), echo());
    std::fs::write(home.bub_home().join("elsewhere.jsonl"), "{}\n").unwrap();
    let serve = serve(&home, &model);
    let long = "a".repeat(4000);
    for name in ["..", "%2e%2e", "%2e%2e%2felsewhere", "..%2Felsewhere", "a%00b", "%ff", "a%2fb", ".hidden", &long] {
        let said = serve.ask("GET", &format!("/v1/tapes/{name}/entries")).send();
        assert_eq!(said.status, 400, "{name}: {said:?}");
        assert!(said.json()["error"]["message"].is_string());
        let written = serve.ask("POST", &format!("/v1/tapes/{name}/entries")).json(&json!({})).send();
        assert_eq!(written.status, 400, "{name}: {written:?}");
    }
    serve.ask("GET", "/v1/tapes/../entries").send().refused(400, "..");
    serve.ask("GET", "/v1/tapes/a/../../etc").send().refused(404, "nothing at this path");
    for session in ["temp%2Fx", "a%00b", &long, "%ff"] {
        let said = serve.ask("GET", &format!("/v1/sessions/{session}/entries")).send();
        assert_eq!(said.status, 400, "{session}: {said:?}");
    }
    serve.ask("GET", "/v1/sessions/nobody/entries").send().refused(404, "has no messages");
    serve.ask("GET", "/v1/tapes/a__b/entries?after=-1").send().refused(400, "invalid query parameters");
    serve.ask("GET", "/v1/tapes/a__b/entries?after=1&before=2").send().refused(400, "not both");
    serve.ask("GET", "/v1/tapes/a__b/search").send().refused(400, "invalid query parameters");
    serve.ask("GET", "/v1/tapes/a__b/search?q=%20").send().refused(400, "");
    serve.ask("GET", "/v1/tapes/a__b/newest").send().refused(400, "name an entry by");
}

#[test]
fn a_write_of_another_host_is_looked_at_before_it_is_done() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    let write = |tape: &str, lines: &[&str]| {
        let ask = serve.ask("POST", &format!("/v1/tapes/{tape}/entries")).header("content-type", "application/jsonl");
        ask.body(lines.iter().map(|line| format!("{line}\n")).collect::<String>())
    };
    let entry =
        |id: u64| format!(r#"{{"id": {id}, "kind": "event", "payload": {{"name": "n"}}, "meta": {{}}, "date": "d"}}"#);
    let (first, second) = (entry(1), entry(2));
    let once = || {
        write(
            "a__b",
            &[
                r#"{"key": null, "batches": 1}"#,
                r#"{"tape": "a__b", "last": null, "reset": null, "entries": 1}"#,
                &first,
            ],
        )
    };
    assert_eq!(once().header("idempotency-key", "once-1").send().ok()["outcome"], "stored");
    assert_eq!(once().header("idempotency-key", "once-1").send().ok()["outcome"], "stored", "it is the same write");
    let again = once().header("idempotency-key", "once-2").send();
    assert_eq!((again.status, again.json()), (412, json!({ "last": [1] })), "this one is another");
    let keyed = || {
        write(
            "a__b",
            &[r#"{"key": "k", "batches": 1}"#, r#"{"tape": "a__b", "last": 1, "reset": null, "entries": 1}"#, &second],
        )
    };
    keyed().send().refused(400, "`If-Match`");
    assert_eq!(keyed().header("if-match", "\"1\"").send().ok()["outcome"], "stored");
    assert_eq!(keyed().header("if-match", "\"1\"").send().ok()["outcome"], "already");
    let stand = || serve.get("/v1/tapes/a__b")["entries"].clone();
    assert_eq!(stand(), 2);
    let reset = |archive: &str| {
        let head = json!({ "tape": "a__b", "last": null, "reset": { "archive": archive, "kept": 0 }, "entries": 0 });
        write("a__b", &[r#"{"key": null, "batches": 1}"#, &head.to_string()]).send()
    };
    for archive in
        ["../a__b.jsonl.x", "a__b.jsonl./../x", "a__b.jsonl..x", "a__b", "c__d.jsonl.x.bak", "a__bc.jsonl", ""]
    {
        reset(archive).refused(400, "is not a name of an archive");
    }
    let head =
        |tape: &str, entries: u64| json!({ "tape": tape, "last": null, "reset": null, "entries": entries }).to_string();
    let one = r#"{"key": null, "batches": 1}"#;
    write("a__b", &[one, &head("c__d", 0)]).send().refused(400, "another tape");
    write("a__b", &[one, &head("a__b__sidecar__..", 0)]).send().refused(400, "cannot name a tape");
    write("a__b", &[one, &head("a__b", 2), &first, &entry(3)]).send().refused(400, "are not consecutive");
    write("a__b", &[one, &head("a__b", 9_000_000_000), &first]).send().refused(400, "is not a write");
    write("a__b", &[r#"{"key": null, "batches": 9000000000}"#]).send().refused(400, "at most 1024 batches");
    write("a__b.jsonl.x.bak", &[one, &head("a__b.jsonl.x.bak", 0)]).send().refused(400, "is an archive");
    assert_eq!(stand(), 2, "no write was done");
    let mut tapes: Vec<_> =
        std::fs::read_dir(home.tapes_dir()).unwrap().map(|file| file.unwrap().file_name()).collect();
    tapes.retain(|file| file.to_string_lossy().ends_with(".jsonl"));
    tapes.sort_unstable();
    assert_eq!(tapes, ["a__b.jsonl", "a__b__sidecar__chain.jsonl"]);
}

/// A client of the API is given no more than a model is.
#[test]
fn forgotten_text_is_returned_to_no_client() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for content in ["the heron eats fish", "and the stork"] {
        say(&serve, "http:birds", content);
    }
    let forgotten = home.run([",memory.forget heron"]).finish();
    assert!(forgotten.stdout.contains("on one tape"), "{forgotten}");
    let session = "/v1/sessions/http%3Abirds";
    for path in ["entries?after=0", "anchors", "context?prompt=and%20now", "search?q=eats&kind=message,event,system"] {
        let answer = serve.get(&format!("{session}/{path}")).to_string();
        assert!(!answer.contains("eats fish"), "{path}: {answer}");
    }
    let entries = serve.get(&format!("{session}/entries?after=0")).to_string();
    assert!(entries.contains("(forgotten)") && entries.contains("and the stork"), "{entries}");
}

#[test]
fn candidates_are_returned_as_lines_with_the_next_id() {
    let (home, model) = (home(), echo());
    let line = |id: u64, content: &str, date: &str| {
        format!(
            r#"{{"id": {id}, "kind": "message", "payload": {{"role": "user", "content": "{content}"}}, "meta": {{}}, "date": "{date}"}}"#
        )
    };
    // More lines than are looked at for one answer, and more bytes than one answer has.
    let mut lines: Vec<String> = (1..=17_000).map(|id| line(id, "filler", "2026-01-01T00:00:00+00:00")).collect();
    let long = format!("egret {}", "x".repeat(1_500_000));
    for (id, content) in [(1, "a HERON"), (16_999, "ein h\\u00e9ron"), (10, &long), (11, &long), (12, &long)] {
        lines[id as usize - 1] = line(id, content, "2026-01-02T00:00:00+02:00");
    }
    std::fs::create_dir_all(home.tapes_dir()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(home.tapes_dir().join("a__b.jsonl"), text).unwrap();
    let serve = serve(&home, &model);
    let ask = |query: &str| serve.ask("GET", &format!("/v1/tapes/a__b/query?{query}")).send();
    let ids = |body: &str| -> Vec<u64> {
        body.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap()).collect()
    };
    // All that there is, by going on behind each answer.
    let all = |query: &str, bound: &str| {
        let (mut found, mut next, mut answers) = (Vec::new(), None::<String>, 0);
        loop {
            let from = next.map(|next| format!("&{bound}={next}")).unwrap_or_default();
            let said = ask(&format!("{query}{from}"));
            assert_eq!((said.status, said.header("content-type")), (200, Some("application/jsonl")), "{said:?}");
            assert!(said.body.len() < 5 << 20);
            found.extend(ids(&said.body));
            answers += 1;
            match said.header("bub-next") {
                Some(id) => next = Some(id.to_owned()),
                None => return (found, answers),
            }
        }
    };
    // A line with escapes is a candidate whatever its text is.
    assert_eq!(all("texts=%5B%22heron%22%5D", "after"), (vec![1, 16_999], 2));
    assert_eq!(all("texts=%5B%22heron%22%5D&newest_first=true", "before"), (vec![16_999, 1], 2));
    assert_eq!(all("similar=%5B%5B%22haron%22,1%5D%5D", "after").0, [1, 16_999]);
    assert_eq!(all("texts=%5B%22egret%22%5D", "after").0, [10, 11, 12, 16_999], "in parts of a few megabytes");
    assert_eq!(all("since=2026-01-01T12:00:00Z&until=2026-01-01T23:00:00Z&max=1", "after").0, [1, 10, 11, 12, 16_999]);
    assert_eq!(all("kinds=%5B%22event%22%5D", "after").0, [0_u64; 0]);
    let bounded = ask("after=1&before=4&kinds=%5B%22message%22%5D");
    assert_eq!((ids(&bounded.body), bounded.header("bub-next")), (vec![2, 3], None));
    let long = format!("texts=%5B%22{}%22%5D", "x".repeat(2_000));
    for (wrong, expected) in [
        ("texts=heron", "`texts` is not a JSON list like `[\"heron\"]`"),
        ("kinds=%5B1%5D", "`kinds` is not a JSON list"),
        ("similar=%5B%22heron%22%5D", "`similar` is not a JSON list like `[[\"heron\", 1]]`"),
        ("similar=%5B%5B%22heron%22,3%5D%5D", "at most 2 edits"),
        ("since=yesterday", "`yesterday` is not an ISO date"),
        ("max=-1", "invalid query parameters"),
        (&long, "at most 64 texts"),
    ] {
        ask(wrong).refused(400, expected);
    }
}
