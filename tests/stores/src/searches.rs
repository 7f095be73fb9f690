//! Searches, where a store may have an index of its own.

use bub_tape::{Draft, Search, Store, Tape};

use crate::model::{hits, shown};
use crate::{NAME, Place, all, ids, message};

/// So many entries that an index has taken most of them, and some still wait for it.
async fn filled(store: &dyn Store) {
    let mut drafts: Vec<Draft> = (0..700).map(|n| message("user", &format!("filler {n}"))).collect();
    for (at, text) in [
        (0, "an der Straße nach Łódź"),
        (1, "北京烤鸭"),
        (2, "北京 烤鸭"),
        (3, "ПРИВЕТ мир"),
        (4, "ΣΊΣΥΦΟΣ"),
        (5, "a\"b \\path\\n"),
        (6, "zeppelin"),
        (7, "Q"),
        (8, "ﬆaﬆ \u{1e9e} \u{17f}pät \u{212a}elvin"),
        (9, "na\u{ef}ve caf\u{e9} ABCÄÖÜ"),
        (10, "𠮷野家 👍🏽"),
        (11, "x1"),
        (14, "\u{390} \u{3c2}"),
        (12, "a/b NEAR( OR \" * ^ -"),
        (690, "zeppelin 北京"),
        (699, "北"),
    ] {
        drafts[at] = message("user", text);
    }
    // As another program writes it.
    let mut foreign = message("user", "x").numbered(1);
    foreign.payload = r#"{"role":"user","content":"\u5317\u4eac a\/b"}"#.into();
    drafts[13] = Draft::from(foreign);
    // A number that is searched for must not occur in a date.
    let drafts: Vec<Draft> = drafts.into_iter().map(|draft| draft.dated("2026-01-05T00:00:00+00:00")).collect();
    for part in drafts.chunks(97) {
        store.append(NAME, part.to_vec(), None).await.unwrap();
    }
}

pub async fn words_of_every_length_and_script_are_found(place: &Place) {
    let store = place.open();
    filled(&*store).await;
    let entries = all(&*store, NAME).await;
    for (text, expected) in [
        ("北京", vec![691, 14, 3, 2]),
        ("北", vec![700, 691, 14, 3, 2]),
        ("鸭", vec![3, 2]),
        ("北京烤鸭", vec![2]),
        ("京烤", vec![2]),
        ("北京 烤鸭", vec![3, 2]),
        ("烤鸭 zeppelin", vec![]),
        ("北 zeppelin", vec![691]),
        ("straße", vec![1]),
        ("STRAẞE", vec![1]),
        ("ł", vec![1]),
        ("łÓ", vec![1]),
        ("привет", vec![4]),
        ("ир", vec![4]),
        ("σίσυφος", vec![5]),
        ("ς", vec![5, 15]),
        ("\u{1fd3}", vec![15]),
        ("a\"b", vec![6]),
        ("\\path", vec![6]),
        ("q", vec![8]),
        ("SPÄT", vec![9]),
        ("Kelvin", vec![9]),
        ("ﬅ", vec![9]),
        ("ÏV", vec![10]),
        ("äö", vec![10]),
        ("cäö", vec![10]),
        ("𠮷", vec![11]),
        ("🏽", vec![11]),
        ("x1", vec![12]),
        ("a/b", vec![14, 13]),
        ("NEAR( OR", vec![13]),
        ("*", vec![13]),
        ("filler 42", vec![43, 143, 243, 343, 421, 422, 423, 424, 425, 426, 427, 428, 429, 430, 443, 543, 643]),
    ] {
        let search = Search { text: text.to_owned(), limit: 50, ..Search::default() };
        let found = store.search(NAME, &search, None).await.unwrap();
        let literal: Vec<u64> = found.iter().filter(|hit| hit.score >= 0.9).map(|hit| hit.entry.id).collect();
        let mut expected = expected;
        expected.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(literal, expected, "{text}");
        assert_eq!(shown(&found), shown(&hits(&entries, &search, None)), "{text}");
    }
}

pub async fn typing_errors_kinds_dates_and_limits_follow_the_rules_of_searches(place: &Place) {
    let store = place.open();
    filled(&*store).await;
    let entries = all(&*store, NAME).await;
    let search = |text: &str| Search { text: text.to_owned(), ..Search::default() };
    for search in [
        search("zepellin"),
        search("zeplin"),
        search("Kelvim spät"),
        search("fillr 42"),
        search("filler"),
        Search { limit: 3, ..search("filler") },
        Search { limit: 0, ..search("filler") },
        Search { limit: 1000, ..search("filler") },
        // The word is in every entry, and not one is wanted.
        Search { kinds: vec!["event".to_owned()], ..search("user") },
        Search { until: Some("2001-01-01".to_owned()), ..search("user") },
        Search { since: Some("2026-01-05".to_owned()), limit: 2, ..search("user 北京") },
        search("nothing at all"),
        search(&"longer than any word here".replace(' ', "")),
        search(&(0..30).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")),
    ] {
        for before in [None, Some(650), Some(3), Some(0), Some(u64::MAX)] {
            let found = store.search(NAME, &search, before).await.unwrap();
            assert_eq!(shown(&found), shown(&hits(&entries, &search, before)), "{search:?} {before:?}");
        }
    }
    for bad in [search(" "), Search { since: Some("bad".to_owned()), ..search("x") }] {
        assert!(store.search(NAME, &bad, None).await.is_err());
        assert!(store.search("other__tape", &bad, None).await.is_err());
    }
    assert!(store.search("other__tape", &search("x"), None).await.unwrap().is_empty());
    store.append("other__tape", vec![message("user", "zeppelin")], None).await.unwrap();
    store.reset(NAME, false).await.unwrap();
    assert!(
        store.search(NAME, &search("zeppelin"), None).await.unwrap().is_empty(),
        "nothing is found of what is gone"
    );
    assert_eq!(store.search("other__tape", &search("zeppelin"), None).await.unwrap().len(), 1);
}

pub async fn a_fork_is_searched_with_its_parent(place: &Place) {
    let store = place.open();
    filled(&*store).await;
    let fork = Tape::open(store, NAME).unwrap().fork();
    fork.append(vec![message("user", "in the fork: 北京"), message("user", "zeppelin")]).await.unwrap();
    let found = |text: &'static str| {
        let fork = fork.clone();
        async move {
            let search = Search { text: text.to_owned(), ..Search::default() };
            let found = fork.search(&search).await.unwrap();
            ids(&found.into_iter().map(|hit| hit.entry).collect::<Vec<_>>())
        }
    };
    assert_eq!(found("北京").await, [701, 691, 14, 3, 2]);
    assert_eq!(found("zeppelin").await, [702, 691], "of what says the same the newest is shown");
    fork.reset(false).await.unwrap();
    assert!(found("北京").await.is_empty());
}
