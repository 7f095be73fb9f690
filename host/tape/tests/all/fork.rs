use std::sync::Arc;

use bub_tape::{Entry, Error, FileStore, JournalSettings, Journals, Lookup, Query, Start, Tape, Tapes, view};

use super::{NAME, Room, ids, message};

#[tokio::test]
async fn a_forks_writes_stay_apart_until_the_merge() {
    let room = Room::new();
    let tape = room.tape();
    tape.bootstrap().await.unwrap();
    let fork = tape.fork();
    assert_eq!(fork.append(vec![message("user", "one"), message("assistant", "two")]).await.unwrap(), 3);
    assert_eq!(fork.last_id().await.unwrap(), 4);
    assert_eq!(tape.last_id().await.unwrap(), 2);
    assert_eq!(ids(&fork.read(0, 10).await.unwrap()), [1, 2, 3, 4]);
    assert_eq!(ids(&fork.read(1, 2).await.unwrap()), [2, 3]);
    assert_eq!(ids(&fork.read(3, 10).await.unwrap()), [4]);
    assert_eq!(ids(&fork.tail(Some(4), 2).await.unwrap()), [2, 3]);
    assert_eq!(ids(&fork.tail(Some(2), 2).await.unwrap()), [1]);
    let before = fork.read(0, 10).await.unwrap();
    fork.merge().await.unwrap();
    assert_eq!(tape.read(0, 10).await.unwrap(), before, "dates and all");
    assert_eq!(fork.read(0, 10).await.unwrap(), before);
    assert!(matches!(fork.merge().await, Err(Error::InvalidInput(_))));
    assert!(matches!(fork.append(vec![message("user", "late")]).await, Err(Error::InvalidInput(_))));
    assert!(matches!(tape.merge().await, Err(Error::InvalidInput(_))));
    assert!(fork.is_fork() && !tape.is_fork());
}

#[tokio::test]
async fn a_dropped_fork_leaves_nothing() {
    let room = Room::new();
    let fork = room.tape().fork();
    fork.append(vec![message("user", "one")]).await.unwrap();
    drop(fork);
    assert!(!room.path().exists());
}

#[tokio::test]
async fn a_merge_assigns_consecutive_ids_after_concurrent_writes() {
    let room = Room::new();
    let tape = room.tape();
    tape.append(vec![message("user", "one")]).await.unwrap();
    let fork = tape.fork();
    fork.append(vec![message("user", "two")]).await.unwrap();
    tape.append(vec![message("user", "between")]).await.unwrap();
    assert_eq!(fork.append(vec![message("user", "three")]).await.unwrap(), 3);
    let contents = |entries: Vec<bub_tape::Entry>| {
        entries.into_iter().map(|entry| super::string(&entry.payload, "content")).collect::<Vec<_>>()
    };
    assert_eq!(contents(fork.read(0, 10).await.unwrap()), ["one", "two", "three"], "an id stands for one entry");
    assert_eq!(contents(fork.tail(None, 10).await.unwrap()), ["one", "two", "three"]);
    fork.merge().await.unwrap();
    let merged = tape.read(0, 10).await.unwrap();
    assert_eq!(ids(&merged), [1, 2, 3, 4]);
    assert_eq!(contents(merged), ["one", "between", "two", "three"]);
}

#[tokio::test]
async fn a_fork_of_a_fork_merges_into_its_parent_first() {
    let room = Room::new();
    let tape = room.tape();
    tape.append(vec![message("user", "one")]).await.unwrap();
    let child = tape.fork();
    child.append(vec![message("user", "two")]).await.unwrap();
    let grandchild = child.fork();
    assert_eq!(grandchild.append(vec![message("user", "three")]).await.unwrap(), 3);
    assert_eq!(ids(&grandchild.read(0, 10).await.unwrap()), [1, 2, 3]);
    let dropped = child.fork();
    dropped.append(vec![message("user", "never")]).await.unwrap();
    drop(dropped);
    grandchild.merge().await.unwrap();
    assert_eq!(child.last_id().await.unwrap(), 3);
    assert_eq!(tape.last_id().await.unwrap(), 1);
    child.merge().await.unwrap();
    assert_eq!(ids(&tape.read(0, 10).await.unwrap()), [1, 2, 3]);
    assert!(!room.file().contains("never"));
}

#[tokio::test]
async fn queries_see_parent_and_fork_alike() {
    let room = Room::new();
    let tape = room.tape();
    tape.handoff("a", None).await.unwrap();
    tape.append(vec![message("user", "Alpha"), message("user", "beta")]).await.unwrap();
    let fork = tape.fork();
    fork.append(vec![message("user", "alpha again").dated("2020-01-01T00:00:00+00:00")]).await.unwrap();
    fork.handoff("b", Some("{\"k\": 1}")).await.unwrap();
    fork.append(vec![message("user", "gamma")]).await.unwrap();
    let all = Query::default;
    for (query, expected) in [
        (Query { text: Some("ALPHA".to_owned()), ..all() }, vec![3, 5]),
        (Query { text: Some("alpha".to_owned()), newest_first: true, limit: Some(1), ..all() }, vec![5]),
        (Query { until: Some("2020-01-01".to_owned()), ..all() }, vec![5]),
        (Query { start: Start::LastAnchor, ..all() }, vec![7, 8]),
        (
            Query { start: Start::AfterAnchor("a".to_owned()), kinds: vec!["message".to_owned()], ..all() },
            vec![3, 4, 5, 8],
        ),
        (Query { start: Start::BetweenAnchors("a".to_owned(), "b".to_owned()), ..all() }, vec![2, 3, 4, 5]),
        (Query { start: Start::AfterId(4), newest_first: true, ..all() }, vec![8, 7, 6, 5]),
    ] {
        assert_eq!(ids(&fork.query(&query).await.unwrap()), expected, "{query:?}");
    }
    assert!(matches!(
        fork.query(&Query { start: Start::AfterAnchor("z".to_owned()), ..all() }).await,
        Err(Error::NotFound(_))
    ));
    assert_eq!(ids(&fork.since_anchor().await.unwrap()), [6, 7, 8]);
    assert_eq!(ids(&view::window(&fork).await.unwrap()), [6, 7, 8]);
    assert_eq!(fork.last_anchor(None, Some(6)).await.unwrap().unwrap().id, 1);
    assert_eq!(fork.newest(&Lookup::Kind("event".to_owned())).await.unwrap().unwrap().id, 7);
    let info = fork.info().await.unwrap();
    assert_eq!((info.entries, info.anchors, info.entries_since_last_anchor), (8, 2, 2));
}

#[tokio::test]
async fn a_direct_append_bypasses_the_fork() {
    let room = Room::new();
    let tape = room.tape();
    let fork = tape.fork().fork();
    fork.append(vec![message("user", "mine")]).await.unwrap();
    assert_eq!(fork.append_direct(0, vec![message("user", "direct")]).await.unwrap(), 1);
    assert_eq!(tape.last_id().await.unwrap(), 1);
    assert_eq!(fork.stored().last_id().await.unwrap(), 1);
    assert!(matches!(fork.append_direct(0, Vec::new()).await, Err(Error::Conflict { last: 1 })));
    let sidecar = fork.sidecar("notes").unwrap();
    sidecar.append(vec![message("user", "aside")]).await.unwrap();
    assert_eq!(sidecar.name(), "aaaa__bbbb__sidecar__notes");
    drop(fork);
    assert_eq!(sidecar.last_id().await.unwrap(), 1);
}

#[tokio::test]
async fn a_reset_of_a_fork_hides_the_parent_until_the_merge() {
    let room = Room::new();
    let tape = room.tape();
    tape.append(vec![message("user", "old"), message("user", "older")]).await.unwrap();
    let fork = tape.fork();
    fork.append(vec![message("user", "gone")]).await.unwrap();
    let archive = fork.reset(true).await.unwrap().unwrap();
    assert_eq!(fork.last_id().await.unwrap(), 0);
    assert!(fork.read(0, 10).await.unwrap().is_empty() && fork.tail(None, 10).await.unwrap().is_empty());
    assert_eq!(fork.newest(&Lookup::Kind("message".to_owned())).await.unwrap(), None);
    assert!(fork.bootstrap().await.unwrap());
    assert_eq!(tape.last_id().await.unwrap(), 2);
    fork.merge().await.unwrap();
    let entries = tape.read(0, 10).await.unwrap();
    assert_eq!(ids(&entries), [1, 2]);
    assert_eq!(entries[0].anchor_name().as_deref(), Some("session/start"));
    let archived = std::fs::read_to_string(room.store.dir().join(archive)).unwrap();
    let kept: Vec<Entry> = archived.lines().map(|line| Entry::parse(line).unwrap()).collect();
    assert_eq!(ids(&kept), [1, 2, 3], "the fork's earlier entries are kept with the rest");
    assert!(kept[2].payload.contains("gone"));
}

#[tokio::test]
async fn a_merge_that_fails_can_be_tried_again() {
    let room = Room::new();
    let fork = room.tape().fork();
    fork.append(vec![message("user", "one")]).await.unwrap();
    std::fs::create_dir(room.path()).unwrap();
    assert!(matches!(fork.merge().await, Err(Error::Io { .. })));
    assert_eq!(fork.stored().name(), fork.name());
    std::fs::remove_dir(room.path()).unwrap();
    fork.append(vec![message("user", "two")]).await.unwrap();
    fork.merge().await.unwrap();
    assert_eq!(ids(&room.tape().read(0, 10).await.unwrap()), [1, 2]);
}

#[tokio::test]
async fn a_turn_sees_its_tape_as_it_has_found_it() {
    let room = Room::new();
    room.tape().append(vec![message("user", "before")]).await.unwrap();
    let journals = Journals::new(room.store.dir(), JournalSettings::default());
    let tapes = Tapes::new(room.store.clone(), Arc::new(journals));
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), 1);
    // Another program, with its own eyes.
    let other = Tape::open(Arc::new(FileStore::open(room.store.dir()).unwrap()), NAME).unwrap();
    other.append(vec![message("user", "meanwhile")]).await.unwrap();
    assert_eq!(ids(&turn.read(0, 10).await.unwrap()), [1]);
    assert_eq!(ids(&turn.tail(None, 10).await.unwrap()), [1]);
    assert_eq!(turn.info().await.unwrap().entries, 1);
    assert_eq!(turn.newest(&Lookup::Kind("message".to_owned())).await.unwrap().map(|newest| newest.id), Some(1));
    assert_eq!(turn.stored().last_id().await.unwrap(), 2);
    assert_eq!(turn.append(vec![message("user", "mine")]).await.unwrap(), 2);
    // A reader in this process looks further: the tape that the turn has written to stays as it was.
    assert_eq!(room.tape().info().await.unwrap().entries, 2);
    assert_eq!(turn.newest(&Lookup::Kind("message".to_owned())).await.unwrap().map(|newest| newest.id), Some(2));
    assert_eq!(ids(&turn.read(0, 10).await.unwrap()), [1, 2]);
    assert_eq!(turn.info().await.unwrap().entries, 2);
    turn.merge().await.unwrap();
    turn.close();
    assert_eq!(ids(&room.tape().read(0, 10).await.unwrap()), [1, 2, 3]);
    assert!(room.file().ends_with("}\n") && room.file().contains("meanwhile") && room.file().contains("mine"));
}

#[tokio::test]
async fn a_turn_that_writes_past_itself_sees_that_as_long_as_it_has_written_nothing_else() {
    let room = Room::new();
    let journals = Journals::new(room.store.dir(), JournalSettings::default());
    let tapes = Tapes::new(room.store.clone(), Arc::new(journals));
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), 0);
    turn.append_direct(0, vec![message("user", "direct")]).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), 1);
    turn.fork().append_direct(1, vec![message("user", "from inside")]).await.unwrap();
    assert_eq!(ids(&turn.read(0, 10).await.unwrap()), [1, 2]);
}
