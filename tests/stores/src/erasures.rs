//! Entries that are taken out for good, and those that stay.

use bub_tape::{Entry, Erasure, Error, Lookup, Search, handoff};

use crate::{NAME, ids, message};
use crate::{Place, SIDE, all};

pub async fn an_erasure_removes_its_entries_and_no_others(place: &Place) {
    let store = place.open();
    let drafts = ["one", "two heron", "three", "four heron"].map(|text| message("user", text));
    store.append(NAME, drafts.to_vec(), None).await.unwrap();
    store.append(NAME, handoff("phase", Some("\"of the heron\"")).unwrap().into(), None).await.unwrap();
    store.append(SIDE, vec![message("user", "beside"), message("user", "a heron")], None).await.unwrap();
    let before = all(&*store, NAME).await;
    let chosen: Vec<&Entry> = before.iter().filter(|entry| entry.payload.contains("heron")).collect();
    assert_eq!(chosen.len(), 4);
    let erasure = Erasure::new(chosen.iter().copied()).with_receipt("a test").unwrap();
    let erased = match store.erase(NAME, erasure).await {
        // Far away, and without the means: nothing changed, and it says what to do.
        Err(Error::InvalidInput(why)) => {
            assert!(why.contains("cannot erase single entries"), "{why}");
            assert_eq!(all(&*store, NAME).await, before);
            return;
        }
        erased => erased.unwrap(),
    };
    assert_eq!(erased, 4);
    for store in [&store, &place.open()] {
        let after = all(&**store, NAME).await;
        assert_eq!(ids(&after), [1, 3, 5, 7], "the anchor stays, and the receipt is the last one");
        assert_eq!((&after[0], &after[1]), (&before[0], &before[2]));
        assert_eq!(&*after[2].payload, r#"{"name": "phase", "state": "(forgotten)"}"#);
        assert_eq!(after[3].event_name().as_deref(), Some("tape.erased"));
        assert!(!after[3].payload.contains("heron") && after[3].payload.contains("a test"));
        let search = Search { text: "heron".to_owned(), ..Search::default() };
        assert!(store.search(NAME, &search, None).await.unwrap().is_empty());
        let newest = store.newest(NAME, &Lookup::Phase, None).await.unwrap();
        assert_eq!(newest.map(|entry| entry.id), Some(5));
        assert_eq!(store.info(NAME).await.unwrap().entries, 4);
        assert_eq!(ids(&all(&**store, SIDE).await), [1, 2], "a sidecar is a tape of its own");
    }
    assert_eq!(store.append(NAME, vec![message("user", "five")], Some(7)).await.unwrap(), 8);
}

/// Where archives are files, [`bub_tape::erase_traces`] erases their entries.
pub async fn entries_of_an_archive_are_erased_under_its_name(place: &Place) {
    let store = place.open();
    assert!(store.archives(None, 10).await.unwrap().is_empty());
    store.append(NAME, ["one", "two heron", "three"].map(|text| message("user", text)).to_vec(), None).await.unwrap();
    store.append(SIDE, vec![message("user", "aside heron")], None).await.unwrap();
    let archive = store.reset(NAME, true).await.unwrap().unwrap();
    store.append(NAME, vec![message("user", "new heron")], None).await.unwrap();
    let all_names = store.archives(None, 10).await.unwrap();
    if all_names.is_empty() {
        return;
    }
    assert_eq!(store.archives(Some(&all_names[0]), 10).await.unwrap(), all_names[1..]);
    assert_eq!(store.archives(None, 1).await.unwrap(), all_names[..1]);
    // A layer over the store may have a sidecar of its own.
    let names: Vec<&String> = all_names.iter().filter(|name| !name.contains("__sidecar__chain")).collect();
    assert_eq!(names, [&archive, &archive.replace(NAME, SIDE)]);
    for (name, left) in [(names[0], vec![1, 3]), (names[1], vec![])] {
        let before = all(&*store, name).await;
        let erasure = || Erasure::new(before.iter().filter(|entry| entry.payload.contains("heron")));
        assert_eq!(store.erase(name, erasure()).await.unwrap(), 1);
        assert_eq!(store.erase(name, erasure()).await.unwrap(), 0);
        assert_eq!(ids(&all(&*place.open(), name).await), left);
    }
    assert_eq!(store.archives(None, 10).await.unwrap(), all_names);
    assert_eq!(ids(&all(&*store, NAME).await), [1], "the tape itself is another one");
}

/// An entry is erased only if its content is the same as when it was chosen.
pub async fn an_entry_whose_content_has_changed_is_not_erased(place: &Place) {
    let store = place.open();
    store.append(NAME, vec![message("user", "old")], None).await.unwrap();
    let erasure = Erasure::new(&all(&*store, NAME).await).with_receipt("a test").unwrap();
    store.reset(NAME, false).await.unwrap();
    store.append(NAME, vec![message("user", "new")], None).await.unwrap();
    if let Ok(erased) = store.erase(NAME, erasure.clone()).await {
        assert_eq!(erased, 0);
        assert_eq!(store.erase("nobody__there", erasure).await.unwrap(), 0);
    }
    let left = all(&*store, NAME).await;
    assert_eq!(left.len(), 1, "not even a receipt: {left:?}");
    assert!(left[0].payload.contains("new"));
}
