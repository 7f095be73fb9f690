//! The first look at a long tape without an index: a turn's lookups are answered from the end, and the index is made
//! behind the answer.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use bub_tape::{Draft, Durability, FileStore, JournalSettings, Journals, Lookup, MEMORY, Store, Tapes, event, handoff};

use super::{NAME, ids, message};

/// Entries of the tape, and how many of them stand behind the last anchor.
const ENTRIES: u64 = 30_000;
const WINDOW: u64 = 100;

struct Room {
    dir: tempfile::TempDir,
    length: u64,
}

impl Room {
    /// A tape of messages with a switch of the model near its beginning and a phase near its end. `odd` has a second entry
    /// of id 7.
    fn new(odd: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("tapes")).unwrap();
        let mut text = Vec::new();
        for id in 1..=ENTRIES {
            let draft = match id {
                5 => event("model_switch", r#"{"model": "openai:old"}"#).unwrap(),
                _ if id == ENTRIES - WINDOW => handoff("phase", None).unwrap()[0].clone(),
                _ => {
                    message("user", &format!("thought {id} of some length, so that the tape is long enough to matter"))
                }
            };
            let written = if odd && id == 8 { 7 } else { id };
            writeln!(text, "{}", draft.numbered(written).line()).unwrap();
        }
        let room = Self { dir, length: text.len() as u64 };
        fs::write(room.tapes().join(format!("{NAME}.jsonl")), text).unwrap();
        room
    }

    fn tapes(&self) -> PathBuf {
        self.dir.path().join("tapes")
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("cache/index").join(format!("{NAME}.index"))
    }

    /// A process that has not read the tape.
    fn open(&self) -> (Arc<FileStore>, Tapes) {
        let index = self.dir.path().join("cache/index");
        let store = Arc::new(FileStore::indexed(self.tapes(), Durability::Os, index).unwrap());
        let journals = Arc::new(Journals::new(self.tapes(), JournalSettings::default()));
        (store.clone(), Tapes::new(store, journals))
    }
}

fn said(draft: &str) -> Draft {
    message("user", draft)
}

#[tokio::test]
async fn a_turn_on_it_indexes_nothing_and_its_end_indexes_all() {
    let room = Room::new(false);
    let (store, tapes) = room.open();
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), ENTRIES);
    let window = turn.since_anchor().await.unwrap();
    assert_eq!((window.len() as u64, window[0].id), (WINDOW + 1, ENTRIES - WINDOW));
    let newest = async |lookup: Lookup| turn.newest(&lookup).await.unwrap().map(|entry| entry.id);
    // A turn's lookups, wherever the entry stands, and also without one.
    assert_eq!(newest(Lookup::event("model_switch")).await, Some(5));
    for name in ["turn.tainted", "turn.addresses", "selector_switch", "never.written"] {
        assert_eq!(newest(Lookup::event(name)).await, None, "{name}");
    }
    assert_eq!(newest(Lookup::Kind("system".to_owned())).await, None);
    assert!(turn.section(MEMORY).await.unwrap().is_empty());
    turn.append(vec![said("hello"), event("model_switch", r#"{"model": "openai:new"}"#).unwrap()]).await.unwrap();
    assert_eq!(newest(Lookup::event("model_switch")).await, Some(ENTRIES + 2));
    turn.merge().await.unwrap();
    turn.close();
    assert_eq!(store.bytes_indexed(), 0, "no lookup has waited for an index");
    // The next look sees entries that were written since.
    let again = tapes.open(NAME).unwrap();
    assert_eq!(again.newest(&Lookup::event("model_switch")).await.unwrap().map(|entry| entry.id), Some(ENTRIES + 2));
    assert_eq!(store.bytes_indexed(), 0);

    again.index().await.unwrap();
    assert!(store.bytes_indexed() >= room.length, "behind the turn all of it is indexed");
    assert!(room.index().is_file());

    let (store, tapes) = room.open();
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(turn.newest(&Lookup::event("turn.tainted")).await.unwrap(), None);
    assert_eq!(turn.newest(&Lookup::event("model_switch")).await.unwrap().map(|entry| entry.id), Some(ENTRIES + 2));
    assert!(store.bytes_indexed() < room.length / 100, "the next process reads what was kept");
}

/// Ids that do not grow far in front of what a turn reads: the entries of the turn keep their ids until it ends.
#[tokio::test]
async fn ids_that_do_not_grow_change_no_id_while_a_turn_runs() {
    let room = Room::new(true);
    let (store, tapes) = room.open();
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), ENTRIES);
    turn.append(vec![said("hello")]).await.unwrap();
    // Another reader finds it out meanwhile.
    store.info(NAME).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), ENTRIES + 1);
    assert_eq!(ids(&turn.tail(None, 2).await.unwrap()), [ENTRIES, ENTRIES + 1]);
    turn.merge().await.unwrap();
    turn.close();
    let after = tapes.open(NAME).unwrap();
    assert!(ids(&after.read(5, 5).await.unwrap()).windows(2).all(|pair| pair[0] < pair[1]));
    let last = after.tail(None, 1).await.unwrap();
    assert!(last[0].payload.contains("hello"));
}
