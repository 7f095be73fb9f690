//! Forgetting: what was remembered is found no more, until a reset it can be read in the file.

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
fn a_dry_run_lists_what_would_be_forgotten_and_forgets_nothing() {
    let home = with_number();
    let before = entries(&home, WORKSPACE);
    let listed = typed(&home, &format!(",memory.forget {SECRET} dry_run=true"));
    let expected = format!(
        "would be forgotten:\n- workspace long-term: Phone: {SECRET}\n- workspace 2025-07-17: - called {SECRET}\n\
         - session long-term: the number is {SECRET}"
    );
    assert_eq!(listed, expected);
    assert_eq!(entries(&home, WORKSPACE), before);
}

#[test]
fn what_is_forgotten_is_in_no_zone_and_the_rest_stays() {
    let home = with_number();
    let answer = typed(&home, &format!(",memory.forget {SECRET}"));
    assert!(answer.starts_with("forgotten, lines: 3. ") && answer.contains("only `tape.reset` erases"), "{answer}");
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
fn what_nothing_matches_writes_nothing() {
    let home = with_number();
    let before = entries(&home, WORKSPACE);
    let answer = typed(&home, ",memory.forget coffee");
    assert_eq!(answer, "nothing that is remembered matches `coffee`");
    assert_eq!(entries(&home, WORKSPACE), before);
}

/// The older zones still stand in the file; neither the agent's search nor recall gives them away, and no view holds them.
#[test]
fn superseded_zones_are_found_by_nobody() {
    let home = with_number();
    // Not forgotten yet: what holds is found.
    let found = call(&home, "tape.search", &json!({ "query": SECRET, "kinds": ["event", "anchor"], "limit": 50 }));
    let zones = |found: &Value| found.as_str().unwrap_or_default().matches("memory.long_term").count();
    assert_eq!(zones(&found), 1, "{found}");
    typed(&home, &format!(",memory.forget {SECRET}"));
    assert!(std::fs::read_to_string(home.tape_file(SESSION)).is_ok_and(|text| text.contains(SECRET)));
    let found = call(&home, "tape.search", &json!({ "query": SECRET, "kinds": ["event", "anchor"], "limit": 50 }));
    assert_eq!(zones(&found), 0, "{found}");
    let recalled = call(&home, "memory.recall", &json!({ "query": "number", "days": 10000 }));
    assert!(!recalled.as_str().is_some_and(|text| text.contains("the number is")), "{recalled}");
}

/// The search of a selector, which is what retrieval is made of, and its view.
#[test]
fn a_selector_finds_of_memory_what_holds_and_sees_none_of_it() {
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
fn a_search_of_the_conversation_finds_what_recall_looks_for_and_not_what_it_has_said() {
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
