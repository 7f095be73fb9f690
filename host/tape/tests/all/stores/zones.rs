//! The zone that holds, in random tapes of files.

use bub_store_tests::zones::{anchor, event, ids};
use bub_store_tests::{NAME, all};
use bub_tape::Entry;
use proptest::prelude::*;

/// The result of `zone`, computed from all entries.
fn highest(entries: &[Entry]) -> Vec<u64> {
    let mark = |entry: &Entry| {
        let payload: serde_json::Value = serde_json::from_str(&entry.payload).unwrap();
        let end = payload["name"].as_str()?.strip_prefix("memory/")?.to_owned();
        Some((end, payload["state"]["version"].as_u64()?))
    };
    let marks: Vec<(usize, String, u64)> = entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| mark(entry).map(|(end, version)| (at, end, version)))
        .collect();
    let mut best: Option<(u64, usize, usize)> = None;
    let mut taken = Vec::new();
    for (seal, _, version) in marks.iter().filter(|(_, end, _)| end == "seal") {
        let mut opens = marks.iter().filter(|(at, end, opened)| at < seal && end == "open" && opened == version);
        let Some((open, ..)) = opens.rfind(|(at, ..)| !taken.contains(at)) else { continue };
        taken.push(*open);
        if best.is_none_or(|(highest, ..)| highest <= *version) {
            best = Some((*version, *open, *seal));
        }
    }
    best.map_or_else(Vec::new, |(_, open, seal)| entries[open..=seal].iter().map(|entry| entry.id).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Opens and seals in any order, from several writers that crash.
    #[test]
    fn in_a_file_it_is_the_one_that_looking_at_everything_finds(marks in prop::collection::vec((0..3_u8, 1..4_u64), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let place = super::file();
            let store = place.open();
            for (what, version) in marks {
                let draft = match what {
                    0 => anchor("open", version),
                    1 => anchor("seal", version),
                    _ => event("x"),
                };
                store.append(NAME, vec![draft], None).await.unwrap();
                let expected = highest(&all(&*store, NAME).await);
                prop_assert_eq!(&ids(&*store, None).await, &expected);
                prop_assert_eq!(&ids(&*place.open(), None).await, &expected);
            }
            Ok(())
        })?;
    }
}
