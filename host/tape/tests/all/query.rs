use bub_tape::{Draft, Error, Query, Start, Tape, event, json};

use super::{Room, edges, ids, message, string};

/// The tape over which `edges.json` asks.
async fn recorded(room: &Room) -> Tape {
    for line in edges("file_store_query_tape") {
        let entry = bub_tape::Entry::parse(&line).unwrap();
        room.tape().append(vec![Draft::from(entry)]).await.unwrap();
    }
    room.tape()
}

/// A query of `edges.json`, and whether it is about fuzziness or Bub's file format for search, which differ here.
fn query(input: &str) -> Query {
    let text = |key: &str| json::get(input, key).and_then(json::string);
    let pair = |key: &str| {
        let pair = json::elements(json::get(input, key)?).ok()?;
        Some((json::string(pair[0])?, json::string(pair[1])?))
    };
    let start = match text("start").as_deref() {
        Some("after_anchor") => Start::AfterAnchor(text("anchor").unwrap()),
        Some("between_anchors") => {
            let (first, second) = pair("between").unwrap();
            Start::BetweenAnchors(first, second)
        }
        _ => Start::First,
    };
    let dates = pair("dates");
    let kinds = json::get(input, "kinds").map(|kinds| json::elements(kinds).unwrap());
    Query {
        start,
        kinds: kinds.unwrap_or_default().into_iter().filter_map(json::string).collect(),
        name: None,
        text: text("text"),
        since: dates.as_ref().map(|(since, _)| since.clone()),
        until: dates.map(|(_, until)| until),
        newest_first: json::get(input, "text").is_some(),
        limit: json::get(input, "limit").and_then(|limit| limit.parse().ok()),
    }
}

#[tokio::test]
async fn queries_return_the_same_entries_as_bub() {
    let room = Room::new();
    let tape = recorded(&room).await;
    for case in edges("file_store_query") {
        let name = string(&case, "name");
        let ours: Option<&[u64]> = match name.as_str() {
            // A limit cannot be negative here, and zero is none.
            "limit -1" => continue,
            "query with limit 0 -> 20" => Some(&[]),
            // Bub leaves out what has the same payload: `9` hides `7`.
            "query epsilon dedupes same payload" => Some(&[9, 7]),
            "query role (yaml key)" => Some(&[9, 7, 4, 2]),
            _ => None,
        };
        let found = tape.query(&query(json::get(&case, "input").unwrap())).await;
        match (found, json::get(&case, "error")) {
            (Ok(found), None) => {
                let theirs = json::elements(json::get(&case, "ok").unwrap()).unwrap();
                let theirs: Vec<u64> = theirs.iter().map(|id| id.parse().unwrap()).collect();
                assert_eq!(ids(&found), ours.unwrap_or(&theirs), "{name}");
            }
            (Err(Error::NotFound(_)), Some(_)) => {
                assert!(string(&case, "message").starts_with("[not_found]"), "{name}")
            }
            (Err(Error::InvalidInput(_)), Some(_)) => {
                assert!(string(&case, "message").starts_with("[invalid_input]"), "{name}");
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn text_is_found_in_any_script_and_case() {
    let room = Room::new();
    room.write("{\"id\": 1, \"kind\": \"message\", \"payload\": {\"content\": \"\\u4f60\\u597d\"}, \"meta\": {}, \"date\": \"D\"}\n");
    let tape = room.tape();
    tape.append(vec![message("user", "他说你好"), message("user", "ПРИВЕТ \"Anna\"\nzwei"), message("user", "x")])
        .await
        .unwrap();
    for (text, expected) in
        [("你好", vec![1, 2]), ("привет", vec![3]), ("\"ANNA\"", vec![3]), ("\nzwei", vec![3]), ("nothing", vec![])]
    {
        let query = Query { text: Some(text.to_owned()), ..Query::default() };
        assert_eq!(ids(&tape.query(&query).await.unwrap()), expected, "{text}");
    }
}

#[tokio::test]
async fn a_bare_date_covers_its_whole_day_and_both_ends_are_inclusive() {
    let room = Room::new();
    let tape = room.tape();
    for date in [
        "2026-01-01T23:59:59.999999+00:00",
        "2026-01-02T00:00:00+00:00",
        "2026-01-02T23:59:59.999999+00:00",
        "2026-01-03T00:00:00+00:00",
        "no date",
    ] {
        tape.append(vec![message("user", "x").dated(date)]).await.unwrap();
    }
    for (since, until, expected) in [
        (Some("2026-01-02"), Some("2026-01-02"), vec![2, 3]),
        (Some("2026-01-02"), None, vec![2, 3, 4]),
        (None, Some("2026-01-01"), vec![1]),
        (Some("2026-01-02T00:00:00"), Some("2026-01-02T00:00:00Z"), vec![2]),
        (Some("2026-01-02T08:00:00+08:00"), Some("2026-01-02 00:00"), vec![2]),
        (None, None, vec![1, 2, 3, 4, 5]),
    ] {
        let query = Query { since: since.map(str::to_owned), until: until.map(str::to_owned), ..Query::default() };
        assert_eq!(ids(&tape.query(&query).await.unwrap()), expected, "{since:?} {until:?}");
    }
}

#[tokio::test]
async fn between_anchors_uses_the_newest_pair() {
    let room = Room::new();
    let tape = room.tape();
    for name in ["a", "b", "a", "b"] {
        tape.handoff(name, None).await.unwrap();
        tape.append(vec![message("user", name)]).await.unwrap();
    }
    let between = |first: &str, second: &str| Query {
        start: Start::BetweenAnchors(first.to_owned(), second.to_owned()),
        ..Query::default()
    };
    assert_eq!(ids(&tape.query(&between("a", "b")).await.unwrap()), [8, 9]);
    assert_eq!(ids(&tape.query(&between("b", "a")).await.unwrap()), [5, 6]);
    let newest = Query { newest_first: true, limit: Some(1), ..between("b", "a") };
    assert_eq!(ids(&tape.query(&newest).await.unwrap()), [6]);
    assert!(matches!(tape.query(&between("c", "a")).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn without_an_anchor_a_query_after_the_last_one_is_empty() {
    let room = Room::new();
    let query = Query { start: Start::LastAnchor, since: Some("bad".to_owned()), ..Query::default() };
    let error = room.tape().query(&query).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no anchor on the tape");
    room.tape().bootstrap().await.unwrap();
    let error = room.tape().query(&query).await.unwrap_err();
    assert_eq!(error.to_string(), "`bad` is not an ISO date or date and time");
}

#[tokio::test]
async fn a_cursor_returns_a_long_result_in_parts_from_both_ends() {
    let room = Room::new();
    let tape = room.tape();
    let drafts = (0..3000).map(|n| if n % 3 == 0 { message("user", "x") } else { event("e", "1").unwrap() });
    tape.append(drafts.collect()).await.unwrap();
    for newest_first in [false, true] {
        let query = Query {
            kinds: vec!["message".to_owned()],
            start: Start::AfterId(1),
            newest_first,
            limit: Some(990),
            ..Query::default()
        };
        let mut cursor = tape.cursor(&query).await.unwrap();
        let mut found = Vec::new();
        loop {
            let part = cursor.next(70).await.unwrap();
            if part.is_empty() {
                break;
            }
            assert!(part.len() <= 70);
            found.extend(ids(&part));
        }
        let all: Vec<u64> = (1..1000).map(|n| n * 3 + 1).collect();
        let expected: Vec<u64> = match newest_first {
            true => all.into_iter().rev().take(990).collect(),
            false => all.into_iter().take(990).collect(),
        };
        assert_eq!(found, expected);
    }
}
