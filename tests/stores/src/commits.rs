//! Writing, and reading what was written.

use bub_tape::{Commit, Draft, Entry, Error, Lookup, Outcome, json};

use crate::{NAME, Place, SIDE, all, batch, contents, ids, keyed, message, stored};

pub async fn a_missing_tape_is_empty(place: &Place) {
    let store = place.open();
    assert_eq!(store.last_id(NAME).await.unwrap(), 0);
    assert!(store.read(NAME, 0, 10).await.unwrap().is_empty());
    assert!(store.tail(NAME, None, 10).await.unwrap().is_empty());
    assert!(store.since_anchor(NAME).await.unwrap().is_empty());
    assert!(store.sidecars(NAME).await.unwrap().is_empty());
    assert!(store.list(None, 10).await.unwrap().is_empty());
    assert_eq!(store.newest(NAME, &Lookup::Anchor, None).await.unwrap(), None);
    assert_eq!(store.archive_name(NAME).await.unwrap(), None);
    assert_eq!(store.reset(NAME, true).await.unwrap(), None);
    let info = store.info(NAME).await.unwrap();
    assert_eq!((info.name.as_str(), info.entries, info.last_anchor), (NAME, 0, None));
    store.check_writable(NAME).await.unwrap();
    assert!(store.list(None, 10).await.unwrap().is_empty(), "asking makes no tape");
}

pub async fn an_entry_comes_back_as_it_was_written(place: &Place) {
    let store = place.open();
    let payload =
        r#"{"content": "他说 \"你好\"\n\u0000", "n": 123456789012345678901234567890, "f": 1.0, "k": 1, "k": 2}"#;
    let drafts = vec![
        Draft::new("message", payload, r#"{"zone": true, "x": NaN}"#).unwrap(),
        Draft::new("kind \"with\" \u{0}\n行", "{}", "{}").unwrap().dated("no date\u{0}"),
        // Another program's spelling.
        Draft::from(Entry {
            id: 77,
            kind: "event".into(),
            payload: r#"{"name":"\u4f60","data":-0}"#.into(),
            meta: r#"{ "a":[1,2] }"#.into(),
            date: "D".into(),
        }),
    ];
    assert_eq!(store.append(NAME, drafts.clone(), None).await.unwrap(), 1);
    let expected: Vec<Entry> = (1..).zip(drafts).map(|(id, draft)| draft.numbered(id)).collect();
    assert_eq!(all(&*place.open(), NAME).await, expected);
    assert_eq!(place.open().tail(NAME, Some(3), 1).await.unwrap(), expected[1..2]);
    let named = store.newest(NAME, &Lookup::event("你"), None).await.unwrap();
    assert_eq!(named.map(|entry| entry.id), Some(3));
}

pub async fn several_batches_are_written_together_or_not_at_all(place: &Place) {
    let store = place.open();
    let both = || vec![batch(SIDE, vec![message("user", "a")]), batch(NAME, vec![message("user", "b"); 2])];
    let commit = |batches| store.commit(Commit { key: None, batches });
    assert_eq!(commit(both()).await.unwrap(), stored(&[1, 1]));
    assert_eq!(commit(both()).await.unwrap(), stored(&[2, 3]));
    let mut refused = both();
    refused[1].expect_last = Some(3);
    assert!(matches!(commit(refused).await, Err(Error::Conflict { last: 4 })));
    assert_eq!(ids(&all(&*store, SIDE).await), [1, 2], "the first batch was not written either");
    assert_eq!(store.sidecars(NAME).await.unwrap(), [SIDE]);
}

pub async fn a_write_is_for_one_family_and_names_each_tape_once(place: &Place) {
    let store = place.open();
    for batches in [
        vec![batch(NAME, vec![message("user", "a")]), batch("other__tape", vec![message("user", "b")])],
        vec![batch(NAME, vec![message("user", "a")]), batch(NAME, vec![message("user", "b")])],
    ] {
        let refused = store.commit(Commit { key: None, batches }).await;
        assert!(matches!(refused, Err(Error::InvalidInput(_))), "{refused:?}");
    }
    assert_eq!(store.last_id(NAME).await.unwrap(), 0);
    assert_eq!(store.commit(Commit::default()).await.unwrap(), stored(&[]));
}

pub async fn a_write_with_a_key_is_done_once(place: &Place) {
    let store = place.open();
    let turn = |key: &str| keyed(key, vec![batch(NAME, vec![message("user", key)])]);
    assert_eq!(store.commit(turn("one")).await.unwrap(), stored(&[1]));
    assert_eq!(place.open().commit(turn("one")).await.unwrap(), Outcome::Already);
    store.append(NAME, vec![message("user", "between")], None).await.unwrap();
    assert_eq!(store.commit(turn("one")).await.unwrap(), Outcome::Already, "a write without a key hides none");
    let beside = keyed("one", vec![batch(SIDE, vec![message("user", "aside")])]);
    assert_eq!(store.commit(beside).await.unwrap(), Outcome::Already, "the key is that of the tape and its sidecars");
    let mut refused = turn("two");
    refused.batches[0].expect_last = Some(9);
    assert!(matches!(store.commit(refused).await, Err(Error::Conflict { last: 2 })));
    assert_eq!(store.commit(turn("two")).await.unwrap(), stored(&[3]), "the refused commit was not done");
    store.reset(NAME, false).await.unwrap();
    assert_eq!(store.commit(turn("two")).await.unwrap(), Outcome::Already, "a reset makes nothing undone");
    assert_eq!(store.last_id(NAME).await.unwrap(), 0);
    let empty = keyed("three", vec![batch(NAME, Vec::new())]);
    assert_eq!(store.commit(empty.clone()).await.unwrap(), stored(&[1]));
    assert_eq!(store.commit(empty).await.unwrap(), Outcome::Already);
    let other = keyed("three", vec![batch("other__tape", vec![message("user", "x")])]);
    assert_eq!(store.commit(other).await.unwrap(), stored(&[1]), "another tape's keys are its own");
}

pub async fn a_write_is_rejected_after_a_conflicting_write(place: &Place) {
    let store = place.open();
    let append = |last| store.append(NAME, vec![message("user", "x")], Some(last));
    assert!(matches!(append(1).await, Err(Error::Conflict { last: 0 })));
    assert_eq!(append(0).await.unwrap(), 1);
    assert!(matches!(append(0).await, Err(Error::Conflict { last: 1 })));
    assert_eq!(append(1).await.unwrap(), 2);
    assert!(matches!(store.append(NAME, Vec::new(), Some(1)).await, Err(Error::Conflict { last: 2 })));
}

pub async fn no_drafts_write_nothing(place: &Place) {
    let store = place.open();
    assert_eq!(store.append(NAME, Vec::new(), None).await.unwrap(), 1);
    assert!(store.list(None, 10).await.unwrap().is_empty());
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    assert_eq!(store.append(NAME, Vec::new(), Some(1)).await.unwrap(), 2);
    assert_eq!(store.last_id(NAME).await.unwrap(), 1);
    // Also for a sidecar that was emptied with its tape, the next id is returned and not the former one.
    let side = format!("{NAME}__sidecar__s");
    store.append(&side, vec![message("user", "x"), message("user", "y")], None).await.unwrap();
    store.reset(NAME, false).await.unwrap();
    assert_eq!(store.append(&side, Vec::new(), None).await.unwrap(), 1);
}

pub async fn entries_that_do_not_fit_on_a_line_are_rejected(place: &Place) {
    let store = place.open();
    let entry = |payload: &str, meta: &str| Entry {
        id: 1,
        kind: "event".into(),
        payload: payload.into(),
        meta: meta.into(),
        date: "D".into(),
    };
    let long = format!("{{\"x\": {}}}", json::quote(&"x".repeat(64 * 1024 * 1024)));
    for (payload, meta) in [("{\n}", "{}"), ("{}", "{\n}"), (&long, "{}")] {
        let drafts = vec![message("user", "x"), Draft::from(entry(payload, meta))];
        let refused = store.append(NAME, drafts, None).await;
        assert!(matches!(refused, Err(Error::InvalidInput(_))), "{refused:?}");
    }
    assert_eq!(store.last_id(NAME).await.unwrap(), 0);
}

pub async fn invalid_names_are_rejected(place: &Place) {
    let store = place.open();
    for name in ["", "..", "../a__b", "a/b__c", "/a__b", ".a__b", "a\0__b", "é__b", &"a".repeat(201)] {
        let drafts = vec![message("user", "x")];
        assert!(matches!(store.append(name, drafts, None).await, Err(Error::InvalidInput(_))), "{name:?}");
        assert!(store.read(name, 0, 1).await.is_err(), "{name:?}");
        assert!(store.tail(name, None, 1).await.is_err(), "{name:?}");
        assert!(store.last_id(name).await.is_err(), "{name:?}");
        assert!(store.newest(name, &Lookup::Phase, None).await.is_err(), "{name:?}");
        assert!(store.since_anchor(name).await.is_err(), "{name:?}");
        assert!(store.sidecars(name).await.is_err(), "{name:?}");
        assert!(store.info(name).await.is_err(), "{name:?}");
        assert!(store.archive_name(name).await.is_err(), "{name:?}");
        assert!(store.reset(name, false).await.is_err(), "{name:?}");
        assert!(store.check_writable(name).await.is_err(), "{name:?}");
    }
}

pub async fn tapes_are_listed_in_order_and_sidecars_are_not(place: &Place) {
    let store = place.open();
    for name in ["z__1", "a__b", "a", "a__b__c", "a__b__sidecar__spill", "m__n", "A__b"] {
        store.append(name, vec![message("user", "x")], None).await.unwrap();
    }
    assert_eq!(store.list(None, 10).await.unwrap(), ["A__b", "a__b", "m__n", "z__1"]);
    assert_eq!(store.list(Some("a__b"), 10).await.unwrap(), ["m__n", "z__1"]);
    assert_eq!(store.list(Some("b"), 1).await.unwrap(), ["m__n"]);
    assert!(store.list(Some("z__1"), 10).await.unwrap().is_empty());
    assert!(store.list(None, 0).await.unwrap().is_empty());
    assert_eq!(store.sidecars("a__b").await.unwrap(), ["a__b__sidecar__spill"]);
    assert!(store.sidecars("m__n").await.unwrap().is_empty());
}

pub async fn another_opening_sees_the_written_entries(place: &Place) {
    let first = place.open();
    first.append(NAME, vec![message("user", "one")], None).await.unwrap();
    let second = place.open();
    assert_eq!(contents(&all(&*second, NAME).await), ["one"]);
    assert_eq!(second.append(NAME, vec![message("user", "two")], None).await.unwrap(), 2);
    assert_eq!(first.append(NAME, vec![message("user", "three")], Some(2)).await.unwrap(), 3);
    second.reset(NAME, true).await.unwrap();
    assert_eq!(first.last_id(NAME).await.unwrap(), 0);
    assert_eq!(first.append(NAME, vec![message("user", "four")], None).await.unwrap(), 1);
    drop((first, second));
    let third = place.open();
    assert_eq!(contents(&all(&*third, NAME).await), ["four"]);
    assert_eq!(third.list(None, 10).await.unwrap(), [NAME]);
}

pub async fn two_writers_leave_consecutive_ids(place: &Place) {
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let store = place.open();
            tokio::spawn(async move {
                for n in 0..300 {
                    let text = format!("{writer} {n}");
                    let batches = vec![
                        batch(SIDE, vec![message("user", &text)]),
                        batch(NAME, vec![message("user", &text), message("user", &text)]),
                    ];
                    store.commit(keyed(&text, batches)).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let store = place.open();
    let written = all(&*store, NAME).await;
    assert_eq!(ids(&written), (1..=1200).collect::<Vec<u64>>());
    assert_eq!(ids(&all(&*store, SIDE).await), (1..=600).collect::<Vec<u64>>());
    let contents = contents(&written);
    assert!(contents.chunks(2).all(|pair| pair[0] == pair[1]), "one write's entries are adjacent");
    for writer in ["0 ", "1 "] {
        let own: Vec<&String> = contents.iter().step_by(2).filter(|text| text.starts_with(writer)).collect();
        let expected: Vec<String> = (0..300).map(|n| format!("{writer}{n}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
}
