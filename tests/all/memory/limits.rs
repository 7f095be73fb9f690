//! Limits are reported: nothing is truncated silently, and a rejected write loses nothing.

use super::*;

#[test]
fn a_long_memory_is_kept_with_the_advice_to_summarise_it() {
    let home = keeping();
    let content = "x".repeat(4097);
    let answer = call(&home, "memory.save", &json!({ "content": content }));
    let answer = answer.as_str().unwrap_or_default();
    assert!(answer.starts_with("saved to long-term memory (4097 bytes") && answer.contains("summarise"), "{answer}");
    assert_eq!(contents(&home, WORKSPACE).1, Some(content));
    let answer = call(&home, "memory.save", &json!({ "content": "x".repeat(4096) }));
    assert!(answer.as_str().is_some_and(|answer| answer.starts_with("saved to long-term memory\n")), "{answer}");
}

#[test]
fn a_memory_that_is_too_long_is_refused_and_the_old_one_stays() {
    let home = keeping();
    typed(&home, ",memory.save content=old");
    let refused = call(&home, "memory.save", &json!({ "content": "x".repeat(65_537) }));
    assert_eq!(refused["kind"], "invalid_input");
    assert!(refused["message"].as_str().is_some_and(|why| why.contains("65537 bytes, and takes 65536")), "{refused}");
    assert_eq!(contents(&home, WORKSPACE), (1, Some("old".to_owned()), Vec::new()));
    call(&home, "memory.save", &json!({ "content": "x".repeat(65_536) }));
    assert_eq!(contents(&home, WORKSPACE).0, 2);
}

#[test]
fn a_day_that_is_too_long_is_refused_and_its_notes_stay() {
    let home = keeping();
    let add =
        |bytes: usize| call(&home, "memory.daily", &json!({ "content": "x".repeat(bytes), "date": "2025-07-17" }));
    assert!(add(40_000).as_str().is_some_and(|answer| answer.contains("summarise")));
    assert_eq!(add(40_000)["kind"], "invalid_input");
    assert_eq!(contents(&home, WORKSPACE).0, 1);
}

#[test]
fn at_the_end_of_the_versions_a_write_is_refused() {
    let home = keeping();
    plant(&home, WORKSPACE, &[bubs("open", u64::MAX), bubs("seal", u64::MAX)]);
    let before = entries(&home, WORKSPACE);
    let refused = call(&home, "memory.save", &json!({ "content": "x" }));
    assert!(refused["message"].as_str().is_some_and(|why| why.contains("versions are used up")), "{refused}");
    assert_eq!(entries(&home, WORKSPACE), before);
}

#[test]
fn invalid_arguments_are_reported() {
    let home = keeping();
    let cases = [
        ("memory.save", json!({ "content": "x", "scope": "world" }), "scope"),
        ("memory.save", json!({}), "content"),
        ("memory.daily", json!({ "content": "x", "date": "2026-02-30" }), "`2026-02-30` is no date"),
        ("memory.daily", json!({ "content": "x", "date": "yesterday" }), "`yesterday` is no date"),
        ("memory.daily", json!({ "content": " \n" }), "nothing to note"),
        ("memory.recall", json!({ "days": 0 }), "days"),
        ("memory.recall", json!({ "days": "many" }), "days"),
        ("memory.forget", json!({ "query": " " }), "`query` is empty"),
        ("memory.forget", json!({ "query": "x", "dry_run": "perhaps" }), "dry_run"),
    ];
    for (tool, arguments, why) in cases {
        let refused = call(&home, tool, &arguments);
        assert_eq!(refused["kind"], "invalid_input", "{tool} {arguments}: {refused}");
        assert!(refused["message"].as_str().is_some_and(|message| message.contains(why)), "{arguments}: {refused}");
    }
    assert!(entries(&home, WORKSPACE).is_empty());
}
