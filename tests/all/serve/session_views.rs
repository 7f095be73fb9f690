//! What is read of a session: entries of a kind, its outline, what a selector selects, and its export.

use super::sessions::gated;
use super::{echo, say, serve, token};
use crate::home;
use bub_tests::{Gate, Home, Serve};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread::scope;

fn ids(page: &Value) -> Vec<u64> {
    let entries = page["entries"].as_array().expect("a list");
    entries.iter().map(|entry| entry["id"].as_u64().expect("an id")).collect()
}

/// Writes a tape of `count` events, with a message wherever `is_message` says so and an anchor at 100.
fn write_tape(home: &Home, session: &str, count: u64, is_message: impl Fn(u64) -> bool) {
    let line = |id: u64| {
        let (kind, payload) = match id {
            100 => ("anchor", json!({ "name": "phase" })),
            id if is_message(id) => ("message", json!({ "role": "user", "content": format!("message {id}") })),
            id => ("event", json!({ "name": "filler", "data": { "id": id } })),
        };
        json!({ "id": id, "kind": kind, "payload": payload, "meta": {}, "date": "2026-01-01T00:00:00+00:00" })
            .to_string()
            + "\n"
    };
    std::fs::create_dir_all(home.tapes_dir()).expect("a directory");
    std::fs::write(home.tape_file(session), (1..=count).map(line).collect::<String>()).expect("a tape");
}

/// All pages in one direction, as one list of ids, and the number of pages.
fn all_pages(serve: &Serve<'_>, path: &str, bound: &str, first: &str) -> (Vec<u64>, usize) {
    let (mut found, mut pages, mut next) = (Vec::new(), 0, first.to_owned());
    loop {
        let page = serve.get(&format!("{path}{next}"));
        let mut ids = ids(&page);
        if bound == "before" {
            ids.reverse();
        }
        found.extend(ids);
        pages += 1;
        assert_eq!(page["more"] == true, page["next"].is_u64(), "{page}");
        match page["next"].as_u64() {
            Some(id) => next = format!("&{bound}={id}"),
            None => return (found, pages),
        }
    }
}

#[test]
fn entries_of_some_kinds_are_read_page_by_page_in_both_directions() {
    for store in ["files", "sqlite:tapes.db"] {
        let (home, model) = (home(), echo());
        home.configure(&format!("tape_store = {store:?}"));
        let serve = serve(&home, &model);
        for content in ["one", "two", "three"] {
            say(&serve, "http:a", content);
        }
        let path = "/v1/sessions/http:a/entries?kind=message&max=2";
        let all = ids(&serve.get("/v1/sessions/http:a/entries?kind=message&after=0"));
        assert_eq!(all.len(), 6);
        assert_eq!(all_pages(&serve, path, "after", "&after=0"), (all.clone(), 3));
        let newest: Vec<u64> = all.iter().rev().copied().collect();
        assert_eq!(all_pages(&serve, path, "before", ""), (newest, 3));
        let both = serve.get("/v1/sessions/http:a/entries?kind=anchor,message");
        assert_eq!((ids(&both).len(), &both["entries"][0]["kind"]), (7, &json!("anchor")));
        assert_eq!(ids(&serve.get("/v1/sessions/http:a/entries?kind=nothing")), [0_u64; 0]);
        let plain = serve.get("/v1/sessions/http:a/entries?after=0&max=3");
        assert_eq!((ids(&plain), &plain["next"]), (vec![1, 2, 3], &json!(3)));
        let tape = both["tape"].as_str().expect("a name");
        let lines = serve.ask("GET", &format!("/v1/tapes/{tape}/entries?kind=message&after=0&max=2")).send();
        assert_eq!((lines.header("bub-more"), lines.body.lines().count()), (Some("true"), 2));
        assert_eq!(lines.header("bub-next"), Some(all[1].to_string().as_str()));
        let many = vec!["x"; 33].join(",");
        serve.ask("GET", &format!("/v1/sessions/http:a/entries?kind={many}")).send().refused(400, "`kind` takes 32");
    }
}

#[test]
fn rare_entries_of_a_long_tape_are_found_and_counted() {
    let (home, model) = (home(), echo());
    write_tape(&home, "http:long", 60_000, |id| id == 3 || id == 59_990);
    let serve = serve(&home, &model);
    let path = "/v1/sessions/http:long/entries?kind=message,anchor";
    assert_eq!(all_pages(&serve, path, "after", "&after=0").0, [3, 100, 59_990]);
    assert_eq!(all_pages(&serve, path, "before", "").0, [59_990, 100, 3]);
    let outline = serve.get("/v1/sessions/http:long/outline");
    assert_eq!((&outline["entries"], &outline["first"], &outline["last"]), (&json!(60_000), &json!(1), &json!(60_000)));
    assert_eq!(outline["kinds"], json!({ "anchor": 1, "event": 59_997, "message": 2 }));
    assert_eq!(outline["anchors"], json!([{ "id": 100, "name": "phase", "date": "2026-01-01T00:00:00+00:00" }]));
}

#[test]
fn an_outline_has_the_newest_anchors() {
    let (home, model) = (home(), echo());
    let anchor = |id: u64| {
        let payload = json!({ "name": format!("phase {id}") });
        json!({ "id": id, "kind": "anchor", "payload": payload, "meta": {}, "date": "d" }).to_string() + "\n"
    };
    std::fs::create_dir_all(home.tapes_dir()).expect("a directory");
    std::fs::write(home.tape_file("http:a"), (1..=600).map(anchor).collect::<String>()).expect("a tape");
    let serve = serve(&home, &model);
    let outline = serve.get("/v1/sessions/http:a/outline");
    let anchors = outline["anchors"].as_array().expect("a list");
    assert_eq!((anchors.len(), &anchors[0]["id"], &anchors[499]["name"]), (500, &json!(101), &json!("phase 600")));
    assert_eq!(outline["kinds"]["anchor"], 600);
}

#[test]
fn a_selection_names_what_the_model_sees_next() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    for content in ["the heron eats fish", "and the stork"] {
        say(&serve, "http:birds", content);
    }
    let path = "/v1/sessions/http:birds/selection";
    let found = serve.get(&format!("{path}?prompt=and%20now"));
    let entries: Vec<u64> = found["entries"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
    let messages = ids(&serve.get("/v1/sessions/http:birds/entries?kind=message"));
    assert!(messages.iter().all(|id| entries.contains(id)), "{found}");
    assert_eq!((&found["fallback"], &found["window_cut"]), (&Value::Null, &json!(false)));
    let context = serve.get("/v1/sessions/http:birds/context?prompt=and%20now");
    assert_eq!(found["messages"].as_u64(), context["messages"].as_array().map(|messages| messages.len() as u64));
    let tokens = found["tokens"].as_object().expect("parts");
    assert_eq!(tokens.values().filter_map(Value::as_u64).sum::<u64>(), found["total"].as_u64().expect("a sum"));
    assert!(["system_prompt", "history", "current_input", "tools"].iter().all(|part| tokens[*part].as_u64() > Some(0)));
    let empty = serve.get(path);
    assert_eq!(empty["tokens"]["current_input"], 0, "without a prompt");
    let named = serve.get(&format!("{path}?selector=context-builder"));
    assert_eq!((&named["selector"], &named["fallback"]), (&json!("context-builder"), &Value::Null));
    serve.ask("GET", &format!("{path}?selector=nobody")).send().refused(400, "no plugin `nobody` selects");
    serve.post("/v1/sessions/http:birds/handoff", &json!({ "name": "next", "summary": "birds" }));
    let after = serve.get(path);
    assert!(messages.iter().all(|id| !after["entries"].as_array().expect("a list").contains(&json!(id))), "{after}");
    assert_eq!(model.requests().len(), 2, "no model was asked for a look");
}

#[test]
fn a_session_is_exported_as_the_command_line_exports_it() {
    for store in ["files", "sqlite:tapes.db"] {
        let (home, model) = (home(), echo());
        home.configure(&format!("tape_store = {store:?}"));
        let serve = serve(&home, &model);
        for at in 0..40 {
            say(&serve, "http:birds", &format!("heron ``` {at}"));
        }
        let export = |query: &str| serve.ask("GET", &format!("/v1/sessions/http%3Abirds/export{query}")).send();
        let lines = export("?format=jsonl");
        assert_eq!(lines.header("content-type"), Some("application/jsonl"));
        assert_eq!(lines.header("content-disposition"), Some("attachment; filename=\"http_birds.jsonl\""));
        let by_command =
            |format: &str| home.bub(["tape", "export", "--session", "http:birds", "--format", format]).finish().stdout;
        assert_eq!(lines.body, by_command("jsonl"));
        let markdown = export("");
        assert_eq!(markdown.header("content-type"), Some("text/markdown; charset=utf-8"));
        assert_eq!(markdown.header("content-disposition"), Some("attachment; filename=\"http_birds.md\""));
        let (title, rest) = markdown.body.split_once('\n').expect("a title");
        assert_eq!(title, "# Session http:birds");
        assert_eq!(Some(rest), by_command("markdown").split_once('\n').map(|(_, rest)| rest));
        assert_eq!(export("?format=markdown").body, markdown.body);
        export("?format=yaml").refused(400, "invalid query parameters");
    }
}

#[test]
fn an_export_has_no_forgotten_words_and_a_plain_file_name() {
    let (home, model) = (home(), echo());
    let serve = serve(&home, &model);
    say(&serve, "a\"; x=\u{e9}/b", "the heron eats fish");
    home.run([",memory.forget heron"]).finish();
    for format in ["markdown", "jsonl"] {
        let said = serve.ask("GET", &format!("/v1/sessions/a%22%3B%20x%3D%C3%A9%2Fb/export?format={format}")).send();
        assert!(said.body.contains("(forgotten)") && !said.body.contains("eats fish"), "{said:?}");
        let name = said.header("content-disposition").expect("a name");
        assert!(name.starts_with("attachment; filename=\"a___x___b."), "{name}");
    }
}

#[test]
fn reading_a_session_needs_the_scope_the_prefix_and_a_session() {
    let (home, model) = (home(), echo());
    let speaker = token(&home, "speaker", "\"turns\"", "");
    let ada = token(&home, "ada", "\"read\"", "ada/");
    let serve = serve(&home, &model);
    say(&serve, "ada/one", "hello");
    say(&serve, "bob/one", "a secret of bob");
    for what in ["outline", "selection", "export", "entries?kind=message"] {
        let get = |token: &str, session: &str| {
            serve.ask("GET", &format!("/v1/sessions/{session}/{what}")).token(token).send()
        };
        assert_eq!(get(&ada, "ada%2Fone").status, 200, "{what}");
        let theirs = get(&ada, "bob%2Fone");
        theirs.refused(403, "begin with `ada/`");
        assert_eq!(get(&ada, "bob%2Fnobody").body, theirs.body);
        get(&ada, "ada%2Fnobody").refused(404, "has no messages");
        get(&speaker, "ada%2Fone").refused(403, "`read`");
        for session in ["temp%2Fx", "a%00b", "%ff", &"a".repeat(4000)] {
            assert_eq!(get(serve.token(), session).status, 400, "{what} {session}");
        }
        serve.strange("GET", &format!("/v1/sessions/ada%2Fone/{what}")).send().refused(401, "a token is needed");
    }
}

#[test]
fn a_session_is_read_while_its_turn_runs() {
    let (home, gate) = (home(), Arc::<Gate>::default());
    let model = gated(&gate);
    let serve = serve(&home, &model);
    say(&serve, "http:a", "hello");
    scope(|threads| {
        let turn = threads.spawn(|| say(&serve, "http:a", "slowly"));
        model.wait_for(2);
        for what in ["outline", "selection", "export", "entries?kind=message"] {
            let said = serve.ask("GET", &format!("/v1/sessions/http:a/{what}")).send();
            assert!(said.status == 200 && !said.body.contains("slowly"), "{said:?}");
        }
        gate.open();
        turn.join().expect("it ends");
    });
    let exported = serve.ask("GET", "/v1/sessions/http:a/export").send();
    assert!(exported.body.contains("slowly") && exported.body.contains("wait is over"), "{exported:?}");
}
