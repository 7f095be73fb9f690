//! The file store.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use bub_tape::{Draft, Entry, Error, FileStore, Lookup, Store, Tape, event, handoff, json};

use super::{NAME, Room, edges, ids, message};

const WHOLE: &str = r#"{"id": 5, "kind": "event", "payload": {"name": "z"}, "meta": {}, "date": "D"}"#;

#[tokio::test]
async fn a_missing_tape_is_empty() {
    let room = Room::new();
    let tape = room.tape();
    assert_eq!(tape.last_id().await.unwrap(), 0);
    assert!(tape.read(0, 10).await.unwrap().is_empty());
    assert!(tape.tail(None, 10).await.unwrap().is_empty());
    assert!(tape.since_anchor().await.unwrap().is_empty());
    assert_eq!(tape.last_anchor(None, None).await.unwrap(), None);
    assert_eq!(tape.append(Vec::new()).await.unwrap(), 1);
    assert!(!room.path().exists(), "reading makes no file, nor does writing nothing");
}

#[tokio::test]
async fn a_torn_last_line_is_set_aside_and_the_next_entry_gets_its_own_line() {
    let room = Room::new();
    room.write(format!("{WHOLE}\n{{\"id\": 6, \"kind\": \"e"));
    assert_eq!(ids(&room.tape().read(0, 10).await.unwrap()), [5]);
    assert_eq!(room.tape().append(vec![message("user", "x")]).await.unwrap(), 6);
    assert_eq!(ids(&room.tape().read(0, 10).await.unwrap()), [5, 6]);
    assert!(room.file().starts_with(&format!("{WHOLE}\n{{\"id\": 6, \"kind\": \"message\"")));
    let torn = room.store.dir().join(format!("{NAME}.jsonl.torn"));
    let torn = std::fs::read_to_string(torn).unwrap();
    assert!(torn.starts_with(&format!("# 20 bytes from {}, ", WHOLE.len() + 1)), "{torn}");
    assert!(torn.ends_with("\n{\"id\": 6, \"kind\": \"e\n"), "{torn}");
    assert_eq!(room.store.list(None, 10).await.unwrap(), [NAME]);
}

#[tokio::test]
async fn a_lookup_finds_entries_in_any_spelling() {
    let anchors = [
        (r#""anchor""#, r#""a/b""#, "a/b"),
        (r#""anchor""#, r#""c\/d""#, "c/d"),
        (r#""\u0061nchor""#, r#""e\u002ff""#, "e/f"),
        (r#""anchor""#, r#""say \"so\"""#, r#"say "so""#),
        (r#""anchor""#, r#""上\u6d77""#, "上海"),
    ];
    let room = Room::new();
    let mut lines = String::new();
    for (at, (kind, name, _)) in anchors.iter().enumerate() {
        let id = at + 1;
        lines +=
            &format!(r#"{{"id": {id}, "kind": {kind}, "payload": {{"name": {name}}}, "meta": {{}}, "date": "D"}}"#);
        lines.push('\n');
    }
    lines += &WHOLE.replace(r#""id": 5"#, r#""id": 6"#);
    room.write(lines + "\n");
    for (at, (_, _, name)) in anchors.iter().enumerate() {
        let found = room.tape().last_anchor(Some(name), None).await.unwrap();
        assert_eq!(found.map(|anchor| anchor.id), Some(at as u64 + 1), "{name}");
    }
    assert_eq!(room.tape().last_anchor(None, Some(4)).await.unwrap().map(|anchor| anchor.id), Some(3));
    assert_eq!(room.tape().last_anchor(Some("x"), None).await.unwrap(), None);
}

#[tokio::test]
async fn a_place_is_found_among_lines_that_cannot_be_read() {
    let room = Room::new();
    let line = |id: usize| {
        format!(r#"{{"id": {id}, "kind": "event", "payload": {{"name": "z"}}, "meta": {{}}, "date": "D"}}"#)
    };
    // Some begin as entries do and are none, some are entries and begin as no program writes them.
    let odd = |id: usize| match id % 4 {
        0 => format!(r#"{{"id": {id}, "kind": "event"#),
        1 => line(id).replace(r#""id": "#, r#" "id" :"#),
        _ => line(id),
    };
    room.write((1..=3_000).map(|id| odd(id) + "\n").collect::<String>());
    for after in [1, 7, 8, 1_000, 1_499, 2_997] {
        let next = (after + 1..).find(|id| id % 4 != 0);
        let page = room.tape().read(after, 1).await.unwrap();
        assert_eq!(page.first().map(|entry| entry.id), next, "behind {after}");
        let before = (1..after + 1).rev().find(|id| id % 4 != 0);
        let page = room.tape().tail(Some(after + 1), 1).await.unwrap();
        assert_eq!(page.first().map(|entry| entry.id), before, "before {after}");
    }
}

#[tokio::test]
async fn a_whole_last_line_gets_the_newline_that_it_lost() {
    let room = Room::new();
    room.write(WHOLE);
    assert_eq!(room.tape().append(vec![message("user", "x")]).await.unwrap(), 6);
    assert!(room.file().starts_with(&format!("{WHOLE}\n{{\"id\": 6")));
    assert_eq!(ids(&room.tape().read(0, 10).await.unwrap()), [5, 6]);
}

#[tokio::test]
async fn lines_that_cannot_be_read_are_skipped_and_stay() {
    let room = Room::new();
    let mut bytes = format!("\n{WHOLE}\r\n").into_bytes();
    bytes.extend(b"{\"id\": 7, \"kind\": \"a\", \"payload\": {\"t\": \"\xff\"}}\n\0\0\0\n");
    room.write(&bytes);
    assert_eq!(room.tape().last_id().await.unwrap(), 5);
    assert_eq!(room.tape().append(vec![message("user", "x")]).await.unwrap(), 6);
    assert_eq!(ids(&room.tape().read(0, 10).await.unwrap()), [5, 6]);
    assert!(std::fs::read(room.path()).unwrap().starts_with(&bytes));
}

#[tokio::test]
async fn a_file_that_another_program_changed_is_looked_at_again() {
    let room = Room::new();
    let tape = room.tape();
    tape.append(vec![message("user", "one")]).await.unwrap();
    let more = room.file() + WHOLE + "\n";
    room.write(more);
    assert_eq!(tape.append(vec![message("user", "two")]).await.unwrap(), 6);
    std::fs::remove_file(room.path()).unwrap();
    assert_eq!(tape.append(vec![message("user", "three")]).await.unwrap(), 1);
}

#[tokio::test]
async fn every_way_of_reading_agrees_on_a_tape_of_many_blocks() {
    let room = Room::new();
    let tape = room.tape();
    // Lines of very different lengths, some longer than the blocks that the file is read in.
    let sizes = [3, 70_000, 0, 65_536, 200_000, 17, 131_072, 40];
    let drafts: Vec<Draft> = (0..400).map(|n| message("user", &"x".repeat(sizes[n % 8] / (1 + n / 40)))).collect();
    tape.append(drafts).await.unwrap();
    tape.handoff("phase", None).await.unwrap();
    tape.append(vec![message("user", "last")]).await.unwrap();
    let all = tape.read(0, usize::MAX).await.unwrap();
    assert_eq!(ids(&all), (1..=403).collect::<Vec<u64>>());
    assert_eq!(tape.tail(None, usize::MAX).await.unwrap(), all);
    for at in [0_usize, 1, 2, 39, 200, 399, 400, 402, 403] {
        let id = at as u64;
        let end = all.len().min(at + 5);
        assert_eq!(tape.read(id, 5).await.unwrap(), all[at..end], "behind {id}");
        let start = at.saturating_sub(5);
        assert_eq!(tape.tail(Some(id + 1), 5).await.unwrap(), all[start..at], "before {}", id + 1);
    }
    assert!(tape.read(9999, 5).await.unwrap().is_empty());
    assert!(tape.tail(Some(0), 5).await.unwrap().is_empty());
    assert_eq!(ids(&tape.tail(Some(u64::MAX), 2).await.unwrap()), [402, 403]);
    assert_eq!(ids(&tape.since_anchor().await.unwrap()), [401, 402, 403]);
    assert_eq!(tape.newest(&Lookup::Kind("event".to_owned())).await.unwrap().unwrap().id, 402);
    assert_eq!(tape.last_id().await.unwrap(), 403);
    let cold = Tape::open(Arc::new(FileStore::open(room.store.dir()).unwrap()), NAME).unwrap();
    assert_eq!(cold.last_id().await.unwrap(), 403);
}

#[tokio::test]
async fn appends_are_rejected_after_a_concurrent_write() {
    let room = Room::new();
    let tape = room.tape();
    tape.append(vec![message("user", "one")]).await.unwrap();
    let refused = tape.append_direct(0, vec![message("user", "two")]).await;
    assert!(matches!(refused, Err(Error::Conflict { last: 1 })));
    assert_eq!(tape.append_direct(1, vec![message("user", "two")]).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_writers_of_a_thousand_entries_leave_consecutive_ids() {
    let room = Room::new();
    let writers: Vec<_> = (0..2)
        .map(|n| {
            // A store of its own, as another process has: only the file lock is between them.
            let store = Arc::new(FileStore::open(room.store.dir()).unwrap());
            let tape = Tape::open(store, NAME).unwrap();
            tokio::spawn(async move {
                for _ in 0..1000 {
                    tape.append(vec![event("e", &n.to_string()).unwrap()]).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let lines: Vec<Entry> = room.file().lines().map(|line| Entry::parse(line).unwrap()).collect();
    assert_eq!(ids(&lines), (1..=2000).collect::<Vec<u64>>());
}

#[tokio::test]
async fn tapes_are_listed_in_order_and_sidecars_are_not() {
    let room = Room::new();
    for case in edges("list_tapes") {
        for name in json::elements(json::get(&case, "input").unwrap()).unwrap() {
            let file = format!("{}.jsonl", json::string(name).unwrap());
            std::fs::write(room.store.dir().join(file), "").unwrap();
        }
        room.store.append("z__1", vec![message("user", "x")], None).await.unwrap();
        let expected = json::elements(json::get(&case, "ok").unwrap()).unwrap();
        let expected: Vec<String> = expected.into_iter().filter_map(json::string).collect();
        assert_eq!(room.store.list(None, 10).await.unwrap(), expected);
        assert_eq!(room.store.list(Some("a__b"), 10).await.unwrap(), ["z__1"]);
        assert_eq!(room.store.list(None, 1).await.unwrap(), ["a__b"]);
    }
}

#[tokio::test]
async fn a_reset_keeps_an_archive_and_never_overwrites_one() {
    let room = Room::new();
    let tape = room.tape();
    assert_eq!(tape.reset(true).await.unwrap(), None);
    let mut kept = Vec::new();
    for content in ["one", "two", "three"] {
        assert_eq!(tape.append(vec![message("user", content)]).await.unwrap(), 1);
        let written = room.file();
        kept.push((tape.reset(true).await.unwrap().unwrap(), written));
        assert_eq!(tape.last_id().await.unwrap(), 0);
    }
    for (name, written) in kept {
        assert!(name.starts_with(&format!("{NAME}.jsonl.2")) && name.ends_with(".bak"), "{name}");
        assert_eq!(std::fs::read_to_string(room.store.dir().join(name)).unwrap(), written);
    }
    tape.append(vec![message("user", "x")]).await.unwrap();
    assert_eq!(tape.reset(false).await.unwrap(), None);
    assert!(!room.path().exists());
}

#[tokio::test]
async fn a_failed_write_gives_one_clear_error_and_leaves_nothing() {
    // The superuser writes into a directory that is read-only, so something else is in the way for everybody.
    let room = Room::new();
    std::fs::create_dir(room.path()).unwrap();
    let tape = room.tape();
    let error = tape.append(vec![message("user", "x")]).await.unwrap_err();
    assert_eq!(error.to_string(), format!("append to tape `{NAME}`: is a directory"));
    assert_eq!(tape.check_writable().await.unwrap_err().to_string(), error.to_string());

    let room = Room::new();
    room.write(format!("{WHOLE}\n"));
    room.tape().check_writable().await.unwrap();
    std::fs::remove_file(room.store.dir().join(format!("{NAME}.jsonl.lock"))).unwrap();
    std::fs::set_permissions(room.store.dir(), PermissionsExt::from_mode(0o500)).unwrap();
    if std::fs::write(room.store.dir().join("probe"), "").is_err() {
        let error = room.tape().append(vec![message("user", "x")]).await.unwrap_err();
        assert_eq!(error.to_string(), format!("append to tape `{NAME}`: permission denied"));
        assert!(room.tape().check_writable().await.is_err());
        assert_eq!(room.file(), format!("{WHOLE}\n"));
        assert_eq!(ids(&room.tape().read(0, 10).await.unwrap()), [5], "reading needs no lock");
    }
    std::fs::set_permissions(room.store.dir(), PermissionsExt::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn files_belong_to_their_owner_alone() {
    let room = Room::new();
    // It creates it.
    std::fs::remove_dir(room.store.dir()).unwrap();
    room.tape().append(vec![message("user", "x")]).await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(room.store.dir()), 0o700);
    for file in std::fs::read_dir(room.store.dir()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    assert!(FileStore::open(room.path()).is_err(), "a file is no directory of tapes");
    assert!(room.dir.path().exists());
}

#[tokio::test]
async fn no_name_leads_out_of_the_directory() {
    let room = Room::new();
    for name in ["", "..", "../a__b", "a/b__c", "/a__b", ".a__b", "a\0__b", "é__b", &"a".repeat(201)] {
        assert!(Tape::open(room.store.clone(), name).is_err(), "{name:?}");
        let refused = room.store.append(name, vec![message("user", "x")], None).await;
        assert!(matches!(refused, Err(Error::InvalidInput(_))), "{name:?}");
        assert!(room.store.read(name, 0, 1).await.is_err(), "{name:?}");
        assert!(room.store.reset(name, false).await.is_err(), "{name:?}");
        assert!(room.store.check_writable(name).await.is_err(), "{name:?}");
    }
    assert_eq!(std::fs::read_dir(room.store.dir()).unwrap().count(), 0);
}

#[tokio::test]
async fn written_entries_are_cached_as_if_they_had_been_read() {
    let room = Room::new();
    let lookup = [
        Lookup::Anchor,
        Lookup::Phase,
        Lookup::Kind("message".to_owned()),
        Lookup::event("e1"),
        Lookup::anchor("phase"),
    ];
    for round in 0..20 {
        let mut drafts = vec![message("user", &format!("line one\nand {round} \"of\" 上海"))];
        drafts.extend((0..round % 4).map(|number| event(&format!("e{number}"), "{}").unwrap()));
        if round % 5 == 3 {
            drafts.extend(handoff("phase", Some(r#"{"summary": "so far"}"#)).unwrap());
        }
        room.tape().append(drafts).await.unwrap();
        if round == 7 {
            // A line without its end, as Bub leaves one where it is killed.
            room.write(room.file() + WHOLE);
        }
        let other = Tape::open(Arc::new(FileStore::open(room.store.dir()).unwrap()), NAME).unwrap();
        assert_eq!(room.tape().info().await.unwrap(), other.info().await.unwrap(), "round {round}");
        for lookup in &lookup {
            let [known, read] =
                [room.tape(), other.clone()].map(|tape| async move { tape.newest(lookup).await.unwrap() });
            assert_eq!(known.await, read.await, "{lookup:?} in round {round}");
        }
    }
}
