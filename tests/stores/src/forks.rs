//! Forks over every store.

use std::cell::Cell;

use bub_tape::{Draft, Entry, Error, Query, Start, Store, Tape, event, json};
use proptest::prelude::*;

use crate::histories::check;
use crate::model::{Model, assert_same, drafts};
use crate::{NAME, Place, SIDE, all, contents, ids, message, string};

/// The answer to a query over the fork.
enum Ours {
    /// The same entries as Bub.
    Same,
    /// Others, on purpose: these ids.
    Differs(&'static [u64]),
    NotFound,
    Invalid,
}

/// A fork as Bub recorded it, as kind and content or name; ids restart in its forks, and continue here.
fn recorded(name: &str) -> Vec<(String, String)> {
    let all = bub_test_support::golden::edges();
    let case = json::get(json::get(&all, "prose").unwrap(), "fork").unwrap();
    let answers = json::get(json::elements(case).unwrap()[0], "ok").unwrap();
    let answer = json::get(answers, name).unwrap_or_else(|| panic!("{name}"));
    let texts = |entry| json::elements(entry).unwrap()[1..].iter().map(|text| json::string(text).unwrap()).collect();
    let entries = json::elements(answer).unwrap();
    entries.into_iter().map(texts).map(|mut texts: Vec<String>| (texts.remove(0), texts.remove(0))).collect()
}

fn seen(entries: &[Entry]) -> Vec<(String, String)> {
    let text = |entry: &Entry| entry.name().unwrap_or_else(|| string(&entry.payload, "content"));
    entries.iter().map(|entry| (entry.kind.to_string(), text(entry))).collect()
}

async fn assert_answers(fork: &Tape, rows: Vec<(&str, Query, Ours)>) {
    for (name, query, ours) in rows {
        let found = fork.query(&query).await;
        match (ours, found) {
            (Ours::Same, Ok(found)) => assert_eq!(seen(&found), recorded(name), "{name}"),
            (Ours::Differs(expected), Ok(found)) => {
                assert_eq!(ids(&found), expected, "{name}");
                assert_ne!(seen(&found), recorded(name), "{name}: this is no difference any more");
            }
            (Ours::NotFound, Err(Error::NotFound(_))) | (Ours::Invalid, Err(Error::InvalidInput(_))) => {
                assert!(!recorded(name).is_empty(), "{name}");
            }
            (_, found) => panic!("{name}: {found:?}"),
        }
    }
}

pub async fn queries_over_a_fork_see_one_tape(place: &Place) {
    let store = place.open();
    let tape = Tape::open(store.clone(), NAME).unwrap();
    let anchor = |name: &str| Draft::new("anchor", &format!(r#"{{"name": "{name}"}}"#), "{}").unwrap();
    tape.append(vec![anchor("a"), message("user", "parent one")]).await.unwrap();
    let fork = tape.fork();
    fork.append(vec![message("user", "local one")]).await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let kinds = |kind: &str| vec![kind.to_owned()];
    let last = || Query { start: Start::LastAnchor, ..Query::default() };
    let after = |name: &str| Query { start: Start::AfterAnchor(name.to_owned()), ..Query::default() };
    let past = || Query { since: text("2000-01-01"), until: text("2000-01-02"), ..Query::default() };
    let between = Query { start: Start::BetweenAnchors("a".to_owned(), "b".to_owned()), ..Query::default() };
    assert_answers(
        &fork,
        vec![
            ("all: parent then local (local ids restart at 1)", Query::default(), Ours::Same),
            // A fork and its parent are one tape to text, dates, kinds and limits.
            (
                "query text is NOT applied to local entries",
                Query { text: text("parent"), ..Query::default() },
                Ours::Differs(&[2]),
            ),
            ("limit applies to the concatenation", Query { limit: Some(2), ..Query::default() }, Ours::Same),
            ("between_dates not applied to local", past(), Ours::Differs(&[])),
            // Errors in a query are reported.
            (
                "bad date: parent error swallowed, local returned",
                Query { since: text("bad"), ..Query::default() },
                Ours::Invalid,
            ),
            ("last_anchor in parent", last(), Ours::Same),
            ("missing after_anchor: error swallowed, local only", after("zz"), Ours::NotFound),
        ],
    )
    .await;
    fork.append(vec![anchor("b"), message("user", "local two")]).await.unwrap();
    assert_answers(
        &fork,
        vec![
            ("last_anchor local: parent+earlier local dropped, anchor excluded", last(), Ours::Same),
            ("after_anchor a: local after, other local anchors kept", after("a"), Ours::Same),
            ("kinds anchor", Query { kinds: kinds("anchor"), ..Query::default() }, Ours::Same),
            ("last_anchor + kinds(message)", Query { kinds: kinds("message"), ..last() }, Ours::Same),
            // An anchor is found wherever it is.
            ("between_anchors a,b (parent lacks b -> swallowed; locals all)", between, Ours::Differs(&[2, 3])),
        ],
    )
    .await;
    assert_eq!(ids(&fork.read(0, 10).await.unwrap()), [1, 2, 3, 4, 5], "ids go on");
    let newest = Query { newest_first: true, limit: Some(3), ..Query::default() };
    assert_eq!(ids(&fork.query(&newest).await.unwrap()), [5, 4, 3]);
    // Another tape goes straight to the parent.
    let over = bub_tape::Fork::new(store.clone(), NAME);
    over.append("other__tape", vec![event("e", "1").unwrap()], None).await.unwrap();
    assert_eq!(seen(&all(&*store, "other__tape").await), recorded("unmanaged tape goes straight to parent"));
    assert_eq!(seen(&all(&*store, NAME).await), recorded("parent before merge"));
    fork.merge().await.unwrap();
    assert_eq!(seen(&all(&*store, NAME).await), recorded("parent after merge"));
}

pub async fn a_merge_keeps_ids_consecutive_and_a_drop_discards(place: &Place) {
    let store = place.open();
    let tape = Tape::open(store.clone(), NAME).unwrap();
    tape.append(vec![message("user", "one")]).await.unwrap();
    let fork = tape.fork();
    fork.append(vec![message("user", "two"), message("user", "three")]).await.unwrap();
    let child = fork.fork();
    assert_eq!(child.append(vec![message("user", "four")]).await.unwrap(), 4);
    let dropped = child.fork();
    dropped.append(vec![message("user", "never")]).await.unwrap();
    drop(dropped);
    // Another process writes meanwhile: the forks' view does not change until they are merged.
    place.open().append(NAME, vec![message("user", "between")], None).await.unwrap();
    assert_eq!(contents(&child.read(0, 10).await.unwrap()), ["one", "two", "three", "four"]);
    child.merge().await.unwrap();
    assert_eq!(store.last_id(NAME).await.unwrap(), 2);
    fork.merge().await.unwrap();
    let merged = all(&*store, NAME).await;
    assert_eq!(contents(&merged), ["one", "between", "two", "three", "four"]);
    assert_eq!(ids(&merged), [1, 2, 3, 4, 5]);
    assert!(matches!(fork.merge().await, Err(Error::InvalidInput(_))));
}

pub async fn sidecars_are_forked_with_their_tape(place: &Place) {
    let store = place.open();
    let tape = Tape::open(store.clone(), NAME).unwrap();
    store.append(SIDE, vec![message("user", "old")], None).await.unwrap();
    let fork = tape.fork();
    let side = fork.sidecar("notes").unwrap();
    side.append(vec![message("user", "new")]).await.unwrap();
    fork.sidecar("other").unwrap().append(vec![message("user", "x")]).await.unwrap();
    assert_eq!(contents(&side.read(0, 10).await.unwrap()), ["old", "new"]);
    let other = "aaaa__bbbb__sidecar__other";
    assert_eq!(fork.sidecars().await.unwrap(), [SIDE, other]);
    assert_eq!(store.sidecars(NAME).await.unwrap(), [SIDE]);
    fork.merge().await.unwrap();
    assert_eq!(store.sidecars(NAME).await.unwrap(), [SIDE, other]);
    assert_eq!(contents(&all(&*store, SIDE).await), ["old", "new"]);
    assert_eq!(store.last_id(NAME).await.unwrap(), 0);
}

pub async fn a_reset_of_a_fork_archives_at_the_merge(place: &Place) {
    let store = place.open();
    let tape = Tape::open(store.clone(), NAME).unwrap();
    tape.append(vec![message("user", "one")]).await.unwrap();
    store.append(SIDE, vec![message("user", "aside")], None).await.unwrap();
    let fork = tape.fork();
    fork.append(vec![message("user", "two")]).await.unwrap();
    fork.sidecar("notes").unwrap().append(vec![message("user", "aside too")]).await.unwrap();
    let archive = fork.reset(true).await.unwrap().unwrap();
    assert!(fork.read(0, 10).await.unwrap().is_empty() && fork.sidecars().await.unwrap().is_empty());
    fork.append(vec![message("user", "new")]).await.unwrap();
    assert_eq!(contents(&all(&*store, NAME).await), ["one"]);
    fork.merge().await.unwrap();
    assert_eq!(contents(&all(&*store, NAME).await), ["new"]);
    assert!(store.sidecars(NAME).await.unwrap().is_empty());
    assert_eq!(contents(&place.archived(&archive).await), ["one", "two"]);
    assert_eq!(contents(&place.archived(&archive.replace(NAME, SIDE)).await), ["aside", "aside too"]);
}

#[derive(Clone, Debug)]
enum Step {
    /// To the tape or its sidecar, in the innermost fork.
    Append(bool, Vec<Draft>),
    Fork,
    Merge,
    Drop,
    /// Of the tape or its sidecar.
    Reset(bool, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (any::<bool>(), drafts(6)).prop_map(|(beside, drafts)| Step::Append(beside, drafts)),
        3 => Just(Step::Fork),
        2 => Just(Step::Merge),
        1 => Just(Step::Drop),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(beside, archive)| Step::Reset(beside, archive)),
    ]
}

pub async fn any_history_with_forks_equals_that_of_one_tape(place: &Place) {
    let histories = Cell::new(0);
    let store = place.open();
    check(24, prop::collection::vec(step(), 1..20), async |steps: Vec<Step>| {
        let history = histories.replace(histories.get() + 1);
        let name = format!("f{history}__a");
        let side = format!("{name}__sidecar__s");
        let mut forks = vec![(Tape::open(store.clone(), &name).unwrap(), Model::default())];
        for step in steps {
            let depth = forks.len();
            let (tape, model) = forks.last_mut().unwrap();
            match step {
                Step::Append(beside, drafts) => {
                    let of = if beside { &side } else { &name };
                    let target = if beside { tape.sidecar("s").unwrap() } else { tape.clone() };
                    assert_eq!(target.append(drafts.clone()).await.unwrap(), model.of(of).len() as u64 + 1);
                    model.append(of, &drafts);
                }
                Step::Fork => {
                    let fork = (tape.fork(), model.clone());
                    forks.push(fork);
                }
                Step::Merge if depth > 1 => {
                    let (fork, merged) = forks.pop().unwrap();
                    fork.merge().await.unwrap();
                    forks.last_mut().unwrap().1 = merged;
                }
                Step::Drop if depth > 1 => drop(forks.pop()),
                Step::Merge | Step::Drop => {}
                Step::Reset(beside, archive) => {
                    let target = if beside { tape.sidecar("s").unwrap() } else { tape.clone() };
                    target.reset(archive).await.unwrap();
                    model.reset(if beside { &side } else { &name });
                }
            }
        }
        for (tape, model) in forks.iter().rev() {
            for (of, target) in [(&name, tape.clone()), (&side, tape.sidecar("s").unwrap())] {
                assert_eq!(target.read(0, usize::MAX).await.unwrap(), model.of(of));
                assert_eq!(target.last_id().await.unwrap(), model.of(of).len() as u64);
            }
        }
        for of in [&name, &side] {
            assert_same(&*store, of, forks[0].1.of(of)).await;
        }
    });
}
