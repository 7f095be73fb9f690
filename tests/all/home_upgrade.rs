//! A home of the first release, which has no version, is brought forward and taken back: with a thousand sessions, killed at
//! each step and at random.

use crate::home;
use bub_tape::{Draft, Durability, FileStore, SessionMark, Store, Tape, tape_name};
use bub_tests::Home;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// Sessions of the home.
const SESSIONS: usize = 1000;

/// The steps at which the program is killed.
const UP: [&str; 3] = ["home.upgrade", "home.upgraded", "home.upgrade.written"];
const DOWN: [&str; 3] = ["home.downgrade", "home.downgraded", "home.downgrade.written"];

/// A home as the first release leaves it, with sessions written by the store itself.
async fn old_home() -> Home {
    let home = home().without_tools();
    let dir = home.bub_home().join("tapes");
    fs::create_dir_all(&dir).expect("a directory for the tapes");
    let store: Arc<dyn Store> = Arc::new(FileStore::durable(&dir, Durability::Os).expect("a store"));
    let workspace = home.workspace();
    for number in 0..SESSIONS {
        let id = format!("http:{number}");
        let tape = Tape::open(store.clone(), &tape_name(&workspace, &id)).expect("a tape");
        let mark =
            SessionMark { id: id.clone(), workspace: workspace.display().to_string(), channel: "http".to_owned() };
        tape.begin_session(Some(&mark)).await.expect("it begins");
        let said = |role: &str| {
            let payload = format!(r#"{{"role": "{role}", "content": "words of session {number}"}}"#);
            Draft::new("message", &payload, "{}").expect("it is JSON")
        };
        tape.append(vec![said("user"), said("assistant")]).await.expect("it is written");
    }
    home
}

/// All files of tapes, without locks and journals.
fn tapes(home: &Home) -> BTreeMap<String, Vec<u8>> {
    let listed = fs::read_dir(home.bub_home().join("tapes")).expect("tapes").flatten();
    let files = listed.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl"));
    files
        .map(|file| (file.file_name().to_string_lossy().into_owned(), fs::read(file.path()).expect("a file")))
        .collect()
}

/// Fails unless every session of the old home is there, byte for byte.
fn is_whole(home: &Home, before: &BTreeMap<String, Vec<u8>>) {
    let now = tapes(home);
    assert!(before.iter().all(|(name, bytes)| now.get(name) == Some(bytes)));
    let version = fs::read_to_string(home.bub_home().join("version"));
    assert!(version.as_ref().map_or(true, |text| text == "1\n"), "{version:?}");
}

#[tokio::test]
async fn a_home_of_the_first_release_with_a_thousand_sessions_survives_kills_at_every_step_forward_and_back() {
    let home = old_home().await;
    let version = home.bub_home().join("version");
    let before = tapes(&home);
    assert_eq!((before.len(), version.exists()), (SESSIONS, false));
    for step in UP {
        let killed = home.run([",quit"]).env("BUB_FAILPOINT", step).finish();
        assert_eq!(killed.code, None, "`{step}`\n{killed}");
        is_whole(&home, &before);
        let _ = fs::remove_file(&version);
    }
    let upgraded = home.run([",help"]).env("BUB_VERBOSE", "1").finish();
    upgraded.mentions("has version 1 now: the file `version` says which programs can read it");
    assert_eq!(fs::read_to_string(&version).expect("it is there"), "1\n");
    // Each session goes on under the new program.
    let listed = home.bub(["tape", "list", "--json"]).finish();
    assert!(listed.code == Some(0) && listed.stdout.contains("http:999"), "{listed}");
    let goes_on = home.run(["--session", "http:7", "--channel", "http", "a word"]).finish();
    assert_eq!(goes_on.code, Some(0), "{goes_on}");
    for step in DOWN {
        let killed = home.bub(["home", "downgrade"]).env("BUB_FAILPOINT", step).finish();
        assert_eq!(killed.code, None, "`{step}`\n{killed}");
        if !version.exists() {
            assert_eq!(step, "home.downgrade.written");
        }
        let again = home.bub(["home"]).finish();
        assert_eq!(again.code, Some(0), "{again}");
    }
    assert!(!version.exists(), "as the first release has left it");
    let now = tapes(&home);
    let changed: Vec<_> = before.iter().filter(|(name, bytes)| now.get(*name) != Some(*bytes)).collect();
    assert!(changed.len() <= 1, "only the session that went on is longer");
    for (name, bytes) in changed {
        assert!(now[name].starts_with(bytes), "what was there is a part of it");
    }
    // Killed whenever it happens to be, forward and back.
    let before = tapes(&home);
    for delay in [0, 3, 7, 12, 20, 30, 45, 70] {
        for arguments in [&["run", "--session", "http:killed", "x"][..], &["home", "downgrade"]] {
            let started = home.bub(arguments.iter().copied()).start();
            std::thread::sleep(Duration::from_millis(delay));
            drop(started);
            is_whole(&home, &before);
        }
    }
    let last = home.run(["--session", "http:8", "--channel", "http", "a word"]).finish();
    assert_eq!(last.code, Some(0), "{last}");
    assert_eq!(fs::read_to_string(&version).expect("it is there"), "1\n");
}
