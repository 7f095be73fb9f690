//! Forgetting: forgotten content is not found any more, until a reset it can be read in the file.

use super::*;

const SECRET: &str = "555-0100";

/// A home that remembers a number, among other things, in both zones.
fn with_number() -> Home {
    let home = keeping();
    typed(&home, &format!(",memory.save content='Likes tea.\nPhone: {SECRET}'"));
    typed(&home, &format!(",memory.daily content='- called {SECRET}' date=2025-07-17"));
    typed(&home, ",memory.daily content='- wrote tests' date=2025-07-17");
    typed(&home, &format!(",memory.save content='the number is {SECRET}' scope=session"));
    home
}

#[test]
fn a_dry_run_lists_the_entries_to_forget_and_forgets_nothing() {
    let home = with_number();
    let before = entries(&home, WORKSPACE);
    let listed = typed(&home, &format!(",memory.forget {SECRET} dry_run=true"));
    let expected = format!(
        "would be forgotten:\n- workspace long-term: Phone: {SECRET}\n- workspace 2025-07-17: - called {SECRET}\n\
         - session long-term: the number is {SECRET}"
    );
    let (lines, entries_of) = listed.rsplit_once('\n').expect("several lines");
    assert_eq!(lines, expected);
    assert!(entries_of.starts_with("- entries of what was said and done, on 2 tapes: "), "{listed}");
    assert_eq!(entries(&home, WORKSPACE), before);
}

#[test]
fn forgotten_text_is_in_no_section_and_other_text_is_kept() {
    let home = with_number();
    let answer = typed(&home, &format!(",memory.forget {SECRET}"));
    assert!(answer.starts_with("forgotten, lines of the memory: 3"), "{answer}");
    let note = ("2025-07-17".to_owned(), "# 2025-07-17\n\n- wrote tests".to_owned());
    assert_eq!(contents(&home, WORKSPACE), (4, Some("Likes tea.".to_owned()), vec![note]));
    assert_eq!(contents(&home, SESSION).1, None);
    assert!(!system(&home, SESSION).contains(SECRET));
}

#[test]
fn a_scope_that_is_named_is_the_only_one_that_forgets() {
    let home = with_number();
    typed(&home, &format!(",memory.forget {SECRET} scope=session"));
    assert_eq!(contents(&home, SESSION).1, None);
    assert!(contents(&home, WORKSPACE).1.is_some_and(|text| text.contains(SECRET)));
}

#[test]
fn a_query_without_a_match_writes_nothing() {
    let home = with_number();
    let before = entries(&home, WORKSPACE);
    let answer = typed(&home, ",memory.forget coffee");
    assert_eq!(answer, "nothing that is remembered or was said matches `coffee`");
    assert_eq!(entries(&home, WORKSPACE), before);
}

/// The older sections are still in the file; neither search nor recall finds them, and no view contains them.
#[test]
fn superseded_sections_are_not_found() {
    let home = with_number();
    let zones = |found: &Value| found.as_str().unwrap_or_default().matches("memory.long_term").count();
    typed(&home, &format!(",memory.forget {SECRET}"));
    assert!(std::fs::read_to_string(home.sidecar_file(SESSION, "memory")).is_ok_and(|text| text.contains(SECRET)));
    let found = call(&home, "tape.search", &json!({ "query": SECRET, "kinds": ["event", "anchor"], "limit": 50 }));
    assert_eq!(zones(&found), 0, "{found}");
    let recalled = call(&home, "memory.recall", &json!({ "query": "number", "days": 10000 }));
    assert!(!recalled.as_str().is_some_and(|text| text.contains("the number is")), "{recalled}");
}

/// The search of a selector, which is what retrieval is made of, and its view.
#[test]
fn a_selector_finds_current_memory_by_search_but_sees_none_in_its_view() {
    for (kept, expected) in [("the key to the house", 1), ("the number of the house", 0)] {
        let home = keeping();
        let long_term = |text: &str| {
            ("event", json!({ "name": "memory.long_term", "data": { "content": text, "updated_at": "" } }), json!({}))
        };
        plant(
            &home,
            SESSION,
            &[
                ("anchor", json!({ "name": "session/start", "state": { "owner": "human" } }), json!({})),
                bubs("open", 1),
                long_term("the key to the safe"),
                bubs("seal", 1),
                bubs("open", 2),
                long_term(kept),
                bubs("seal", 2),
            ],
        );
        home.configure("[plugins.trier]\ngrants = [\"tape:read\", \"agent\"]");
        home.configure("[plugins.trier.config]\ntries = [\"dump\"]");
        home.plugin("trier", bub_tests::programs::TRIER);
        let finished = home.run(["hi"]).watched().finish().says("[cli:local]\ntried\n");
        // It says the entries that it sees, and how many its search for `key` finds.
        let seen = format!("dumped: view: [] {expected} ");
        assert!(finished.stderr.contains(&seen), "expected `{seen}`\n{finished}");
    }
}

#[test]
fn a_search_of_the_conversation_finds_messages_and_not_earlier_recalls() {
    let home = keeping();
    let said = Answer::text("The heron nests by the river.");
    home.run(["where?"]).model(&Server::new([said])).finish();
    for _ in 0..2 {
        let recalled = call(&home, "memory.recall", &json!({ "query": "heron" }));
        let recalled = recalled.as_str().unwrap_or_default();
        assert!(recalled.starts_with("[memory.recall] `heron`"), "{recalled}");
        assert_eq!(recalled.matches("The heron nests").count(), 1, "{recalled}");
    }
}

/// The latest request to the model.
fn told(server: &Server) -> String {
    server.requests().last().expect("the model was asked").body.clone()
}

/// A turn of a session in which the model answers that.
#[track_caller]
fn say(home: &Home, session: &str, message: &str, answer: &str) -> Server {
    let server = Server::new([Answer::text(answer)]);
    let finished = home.run([message, "--session-id", session]).model(&server).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    server
}

fn file(home: &Home, session: &str) -> String {
    std::fs::read_to_string(home.tape_file(session)).expect("there is a tape")
}

#[test]
fn forgotten_text_leaves_the_requests_of_all_sessions_and_other_text_is_kept() {
    let home = keeping();
    say(&home, SESSION, &format!("My phone is {SECRET}."), &format!("Noted: {SECRET}."));
    say(&home, SESSION, "And I like tea.", "So do I.");
    say(&home, "another", &format!("Call {SECRET} at noon"), "Done.");
    typed(&home, &format!(",memory.save content='Phone: {SECRET}'"));
    let listed = typed(&home, &format!(",memory.forget {SECRET} dry_run=true"));
    assert!(listed.contains("entries of what was said and done, on 2 tapes: "), "{listed}");
    assert!(told(&say(&home, SESSION, "what do you know", "a lot")).contains(SECRET), "a dry run forgets nothing");

    let answer = typed(&home, &format!(",memory.forget {SECRET}"));
    assert!(
        answer.starts_with("forgotten, lines of the memory: 1; entries of what was said and done, on "),
        "{answer}"
    );
    assert!(
        answer.contains("files of the tapes still hold it") && answer.contains("tape erase --forgotten"),
        "{answer}"
    );
    assert!(!answer.contains(SECRET), "{answer}");

    for session in [SESSION, "another"] {
        let sent = told(&say(&home, session, "go on", "yes"));
        assert!(!sent.contains(SECRET) && sent.contains("(forgotten)"), "{session}: {sent}");
    }
    let sent = told(&say(&home, SESSION, "go on", "yes"));
    assert!(sent.contains("And I like tea.") && sent.contains("So do I."), "{sent}");
    assert!(file(&home, SESSION).contains(SECRET) && file(&home, "another").contains(SECRET), "the files hold it");
    let kept = std::fs::read_to_string(home.sidecar_file(SESSION, "forgotten")).expect("the sidecar");
    assert!(kept.contains("memory.forgotten") && !kept.contains(SECRET), "{kept}");
    let again = typed(&home, &format!(",memory.forget {SECRET} dry_run=true"));
    assert!(again.starts_with("nothing that is remembered or was said matches"), "{again}");
}

#[test]
fn the_turn_that_forgets_is_forgotten_with_it_and_its_calls_keep_their_results() {
    let home = keeping();
    say(&home, SESSION, &format!("My phone is {SECRET}."), "Noted.");
    let server = Server::new([
        Answer::tool_call("memory_save", &json!({ "content": format!("Phone: {SECRET}") }).to_string()),
        Answer::text("Kept."),
        Answer::tool_call("memory_forget", &json!({ "query": SECRET }).to_string()),
        Answer::text(&format!("{SECRET} is forgotten.")),
        Answer::text("Nothing."),
    ]);
    home.run(["remember it"]).model(&server).finish().says("[cli:local]\nKept.\n");
    home.run([&format!("forget {SECRET}") as &str])
        .model(&server)
        .finish()
        .says(&format!("[cli:local]\n{SECRET} is forgotten.\n"));
    let result = result(&server);
    assert!(result.as_str().is_some_and(|text| text.starts_with("forgotten, lines of the memory: 1; ")), "{result}");
    home.run(["what do you know?"]).model(&server).finish().says("[cli:local]\nNothing.\n");
    let last = server.requests().pop().expect("the model was asked");
    assert!(!last.body.contains(SECRET), "{}", last.body);
    // A model takes no call without its result, and no result without its call.
    let messages = last.messages();
    let ids = |key: &'static str| {
        let calls = messages.iter().filter_map(move |message| message[key].as_array()).flatten();
        calls.map(|call| call["id"].clone()).collect::<Vec<_>>()
    };
    let results: Vec<Value> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["tool_call_id"].clone())
        .collect();
    assert_eq!(ids("tool_calls"), results);
    assert_eq!(results.len(), 2);
    assert!(messages.iter().any(|message| message["tool_calls"][0]["function"]["name"] == "memory_forget"));
}

#[test]
fn no_search_and_no_recall_finds_forgotten_text() {
    let home = keeping();
    say(&home, SESSION, "The heron nests by the river.", "Near the mill, the heron does.");
    typed(&home, ",memory.forget heron");
    let shown = home.bub(["tape", "context", "--prompt", "hi"]).finish();
    assert!(shown.code == Some(0) && !shown.stdout.contains("heron"), "{shown}");
    for (tool, arguments) in [
        ("tape.search", json!({ "query": "heron", "kinds": ["message", "event", "system"] })),
        ("memory.recall", json!({ "query": "heron" })),
    ] {
        let found = call(&home, tool, &arguments);
        let found = found.as_str().unwrap_or_default();
        assert!(!found.contains("nests") && !found.contains("mill"), "{tool}: {found}");
    }
}

#[test]
fn with_session_scope_text_is_forgotten_in_one_session() {
    let home = keeping();
    for session in [SESSION, "another"] {
        say(&home, session, &format!("My phone is {SECRET}."), "Noted.");
    }
    typed(&home, &format!(",memory.forget {SECRET} scope=session"));
    assert!(!told(&say(&home, SESSION, "go on", "yes")).contains(SECRET));
    assert!(told(&say(&home, "another", "go on", "yes")).contains(SECRET));
}

/// A date selects the notes of a day; their texts are searched for, and not the date, which is everywhere.
#[test]
fn forgetting_a_day_forgets_its_notes_in_the_conversation_and_nothing_else() {
    let home = keeping();
    say(&home, SESSION, "On 2025-07-17 I planted an old apple tree.", "Noted.");
    say(&home, SESSION, "On 2025-07-17 it rained.", "It did.");
    typed(&home, ",memory.daily content='- planted an old apple tree' date=2025-07-17");
    typed(&home, ",memory.forget 2025-07-17");
    let sent = told(&say(&home, SESSION, "go on", "yes"));
    assert!(!sent.contains("apple tree") && sent.contains("it rained"), "{sent}");
}

#[test]
fn a_peer_cannot_forget_messages() {
    let home = keeping();
    home.configure("[channels.telegram]\nowners = [\"boss\"]\npeers = [\"friend\"]\ntools = [\"memory.forget\"]");
    let from = |sender: &'static str, message: &'static str| {
        [message, "--channel", "telegram", "--chat-id", "7", "--sender-id", sender]
    };
    let server = Server::new([
        Answer::text("Noted."),
        Answer::tool_call("memory_forget", r#"{"query":"heron","scope":"session"}"#),
        Answer::text("done"),
        Answer::text("yes"),
    ]);
    for (sender, message) in [("boss", "the heron nests here"), ("friend", "forget it"), ("boss", "go on")] {
        let finished = home.run(from(sender, message)).model(&server).finish();
        assert!(finished.code.is_some_and(|code| code != 1), "{finished}");
    }
    assert!(told(&server).contains("the heron nests here"), "{}", told(&server));
}

/// The context builder's data about a conversation: its summary and the exchanges that it keeps for recall.
#[test]
fn summaries_and_retrieval_of_the_context_builder_do_not_restore_forgotten_text() {
    let home = keeping();
    home.configure(
        "selector = \"context-builder\"\n[plugins.context-builder.config]\nsliding_window_size = 2\nsummary_after_messages = 2\nmin_similarity = 0.01",
    );
    say(&home, SESSION, &format!("The code of the harbour gate is {SECRET}."), "Noted.");
    for turn in 0..6 {
        say(&home, SESSION, &format!("thought number {turn}: the weather was pleasant"), "It was.");
    }
    let question = "what is the code of the harbour gate?";
    let before = told(&say(&home, SESSION, question, "It is there."));
    assert!(before.contains(SECRET), "the test is of something that comes back: {before}");
    typed(&home, &format!(",memory.forget {SECRET}"));
    for turn in 0..5 {
        let sent = told(&say(&home, SESSION, question, &format!("I do not know, {turn}.")));
        assert!(!sent.contains(SECRET), "{turn}: {sent}");
    }
}

#[test]
fn a_copy_of_an_earlier_moment_has_forgotten_it_too() {
    let home = keeping();
    say(&home, SESSION, &format!("My phone is {SECRET}."), "Noted.");
    let last = entries(&home, SESSION).last().and_then(|entry| entry["id"].as_u64()).expect("entries").to_string();
    typed(&home, &format!(",memory.forget {SECRET}"));
    let copied = home.bub(["tape", "fork", "--to", "copy", "--at", &last]).finish();
    assert_eq!(copied.code, Some(0), "{copied}");
    let sent = told(&say(&home, "copy", "go on", "yes"));
    assert!(!sent.contains(SECRET) && sent.contains("(forgotten)"), "{sent}");
}
