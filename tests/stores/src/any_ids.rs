//! Ids that no store assigned: in queries, and on lines that another program wrote.

use bub_tape::{Lookup, Query, Search, Start};

use crate::{NAME, ids, message};
use crate::{Place, all};

const LARGEST: u64 = (1 << 53) - 1;

pub async fn every_id_has_an_answer(place: &Place) {
    let store = place.open();
    let drafts = ["heron", "stork", "crane", "egret"].map(|text| message("user", text));
    store.append(NAME, drafts.into(), None).await.unwrap();
    for odd in [0, 1, 2, 4, 5, u64::from(u32::MAX), LARGEST, LARGEST + 1, i64::MAX as u64 - 1, u64::MAX] {
        let behind: Vec<u64> = (1..=4).filter(|id| *id > odd).collect();
        let before: Vec<u64> = (1..=4).filter(|id| *id < odd).collect();
        assert_eq!(ids(&store.read(NAME, odd, 9).await.unwrap()), behind, "behind {odd}");
        assert_eq!(ids(&store.tail(NAME, Some(odd), 9).await.unwrap()), before, "before {odd}");
        let newest = store.newest(NAME, &Lookup::Kind("message".to_owned()), Some(odd)).await.unwrap();
        assert_eq!(newest.map(|entry| entry.id), before.last().copied(), "before {odd}");
        assert!(store.section(NAME, "memory", Some(odd)).await.unwrap().is_empty(), "before {odd}");
        let search = Search { text: "r".to_owned(), ..Search::default() };
        let found = store.search(NAME, &search, Some(odd)).await.unwrap();
        assert_eq!(found.len(), before.len(), "before {odd}");
        let query = Query { start: Start::AfterId(odd), newest_first: true, ..Query::default() };
        assert_eq!(store.query(NAME, &query).await.unwrap().len(), behind.len(), "behind {odd}");
    }
}

/// Where tapes are files, another program may have written them.
pub async fn lines_with_any_ids_are_read_in_their_order(place: &Place) {
    let Some(dir) = &place.files else { return };
    let line = |id: &str| {
        format!(
            "{{\"id\": {id}, \"kind\": \"message\", \"payload\": {{\"role\": \"user\", \"content\": \"a heron\"}}, \"meta\": {{}}, \"date\": \"2026-11-21T02:36:22+00:00\"}}\n"
        )
    };
    let lines: String = ["1", "700", "3", "3", "-8", "9223372036854775806"].map(line).concat();
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join(format!("{NAME}.jsonl")), &lines).unwrap();
    let store = place.open();
    let expected = [1, 700, 701, 702, 703, 704];
    assert_eq!(store.last_id(NAME).await.unwrap(), 704);
    assert_eq!(ids(&all(&*store, NAME).await), expected);
    assert_eq!(ids(&store.tail(NAME, Some(702), 2).await.unwrap()), [700, 701]);
    assert_eq!(ids(&store.read(NAME, 702, 9).await.unwrap()), [703, 704]);
    assert_eq!(store.append(NAME, vec![message("user", "behind")], None).await.unwrap(), 705);
    let again = place.open();
    assert_eq!(ids(&all(&*again, NAME).await), [&expected[..], &[705]].concat());
    let file = std::fs::read_to_string(dir.join(format!("{NAME}.jsonl"))).unwrap();
    assert!(file.starts_with(&lines) && file.contains("{\"id\": 705, "), "{file}");
}
