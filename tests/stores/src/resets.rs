//! Emptying tapes, and what becomes of what they held.

use bub_tape::{Batch, Commit, Error, Reset};

use crate::{NAME, Place, SIDE, all, batch, contents, ids, keyed, message, reset, stored};

pub async fn an_archive_keeps_a_tape_and_its_sidecars(place: &Place) {
    let store = place.open();
    store.append(NAME, vec![message("user", "one"), message("user", "two")], None).await.unwrap();
    store.append(SIDE, vec![message("user", "aside")], None).await.unwrap();
    let before = all(&*store, NAME).await;
    let archive = store.reset(NAME, true).await.unwrap().unwrap();
    assert!(archive.starts_with(&format!("{NAME}.jsonl.2")) && archive.ends_with(".bak"), "{archive}");
    assert_eq!(place.archived(&archive).await, before);
    let beside = archive.replace(NAME, SIDE);
    assert_eq!(contents(&place.archived(&beside).await), ["aside"]);
    for tape in [NAME, SIDE] {
        assert_eq!(store.last_id(tape).await.unwrap(), 0);
        assert!(all(&*store, tape).await.is_empty());
    }
    assert!(store.list(None, 10).await.unwrap().is_empty() && store.sidecars(NAME).await.unwrap().is_empty());
    assert_eq!(store.info(NAME).await.unwrap().entries, 0);
    assert_eq!(store.append(NAME, vec![message("user", "new")], None).await.unwrap(), 1);
    assert_eq!(place.archived(&archive).await, before, "an archive stays as it is");
    assert_eq!(store.list(None, 10).await.unwrap(), [NAME]);
}

pub async fn a_reset_without_an_archive_removes_all_entries(place: &Place) {
    let store = place.open();
    for tape in [NAME, SIDE, "aaaa__bbbc", "aaaa__bbb"] {
        store.append(tape, vec![message("user", "x")], None).await.unwrap();
    }
    assert_eq!(store.reset(NAME, false).await.unwrap(), None);
    assert_eq!(store.list(None, 10).await.unwrap(), ["aaaa__bbb", "aaaa__bbbc"]);
    assert!(all(&*store, SIDE).await.is_empty());
    assert_eq!(store.archive_name(NAME).await.unwrap(), None);
    assert_eq!(ids(&all(&*store, "aaaa__bbbc").await), [1]);
}

pub async fn a_write_may_begin_with_a_reset(place: &Place) {
    let store = place.open();
    store.append(NAME, vec![message("user", "old"); 3], None).await.unwrap();
    store.append(SIDE, vec![message("user", "old"); 3], None).await.unwrap();
    let archive = store.archive_name(NAME).await.unwrap();
    let fresh = || vec![message("user", "new")];
    let commit = |archive: Option<String>, expect_last| Commit {
        key: Some("turn".to_owned()),
        batches: vec![batch(SIDE, fresh()), Batch { expect_last: Some(expect_last), ..reset(NAME, archive, fresh()) }],
    };
    let refused = store.commit(commit(archive.clone(), 3)).await;
    assert!(matches!(refused, Err(Error::Conflict { last: 0 })), "{refused:?}");
    assert_eq!(ids(&all(&*store, NAME).await), [1, 2, 3], "a refused reset empties nothing");
    assert_eq!(store.commit(commit(archive.clone(), 0)).await.unwrap(), stored(&[1, 1]));
    for tape in [NAME, SIDE] {
        assert_eq!(contents(&all(&*store, tape).await), ["new"]);
    }
    assert_eq!(ids(&place.archived(&archive.unwrap()).await), [1, 2, 3]);
}

pub async fn a_sidecar_is_emptied_alone(place: &Place) {
    let store = place.open();
    let other = "aaaa__bbbb__sidecar__other";
    for tape in [NAME, SIDE, other] {
        store.append(tape, vec![message("user", "x")], None).await.unwrap();
    }
    let archive = store.reset(SIDE, true).await.unwrap().unwrap();
    assert_eq!(ids(&place.archived(&archive).await), [1]);
    assert_eq!(store.sidecars(NAME).await.unwrap(), [other]);
    assert_eq!(store.last_id(NAME).await.unwrap(), 1);
    store.reset(other, false).await.unwrap();
    assert!(store.sidecars(NAME).await.unwrap().is_empty());
}

pub async fn entries_of_a_fork_are_added_to_the_archive(place: &Place) {
    let store = place.open();
    store.append(NAME, vec![message("user", "one"), message("user", "two")], None).await.unwrap();
    let archive = store.archive_name(NAME).await.unwrap().unwrap();
    let beside = archive.replace(NAME, SIDE);
    let keeping = |tape: &str, archive: &str, kept: &str, new: &str| Batch {
        reset: Some(Reset { archive: Some(archive.to_owned()), kept: vec![message("user", kept)] }),
        ..batch(tape, vec![message("user", new)])
    };
    // The sidecar is not there yet: its archive begins with what is kept.
    let batches = vec![keeping(SIDE, &beside, "kept aside", "aside"), keeping(NAME, &archive, "three", "new")];
    assert_eq!(store.commit(keyed("turn", batches)).await.unwrap(), stored(&[1, 1]));
    let kept = place.archived(&archive).await;
    assert_eq!((ids(&kept), contents(&kept)), (vec![1, 2, 3], vec!["one".into(), "two".into(), "three".into()]));
    assert_eq!(contents(&place.archived(&beside).await), ["kept aside"]);
    assert_eq!(contents(&all(&*store, NAME).await), ["new"]);
    assert_eq!(contents(&all(&*store, SIDE).await), ["aside"]);
}

pub async fn an_archive_is_never_overwritten(place: &Place) {
    let store = place.open();
    let mut kept = Vec::new();
    for content in ["one", "two", "three"] {
        store.append(NAME, vec![message("user", content)], None).await.unwrap();
        kept.push((store.reset(NAME, true).await.unwrap().unwrap(), content));
    }
    // The same name for a second time.
    store.append(NAME, vec![message("user", "four")], None).await.unwrap();
    let taken = kept[0].0.clone();
    store.commit(Commit::new(reset(NAME, Some(taken.clone()), Vec::new()))).await.unwrap();
    assert_eq!(store.last_id(NAME).await.unwrap(), 0);
    for (archive, content) in kept {
        assert_eq!(contents(&place.archived(&archive).await), [content]);
    }
    store.append(NAME, vec![message("user", "five")], None).await.unwrap();
    for archive in ["other__tape.bak", &format!("{NAME}/../x.bak")] {
        let refused = store.commit(Commit::new(reset(NAME, Some(archive.to_owned()), Vec::new()))).await;
        assert!(refused.is_err(), "{archive}");
    }
    assert_eq!(contents(&all(&*store, NAME).await), ["five"]);
}
