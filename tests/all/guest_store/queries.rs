//! Queries and searches that the other side answers.

use super::place::Kept;
use super::{Searching, keeping, name};
use bub_tape::{Draft, Entry, Query, Search, Tape, Words};
use bub_tests::{Answer, Server};

const NAME: &str = "a__b";

fn message(text: &str) -> Draft {
    let payload = serde_json::json!({ "role": "user", "content": text }).to_string();
    Draft::new("message", &payload, "{}").unwrap()
}

/// A tape of 5,000 entries, which is 20 pages; one is of a heron, one of a stork.
async fn long(kept: &Kept) -> Tape {
    let mut drafts: Vec<Draft> = (0..5_000).map(|n| message(&format!("filler {n}"))).collect();
    drafts[1_000] = message("one heron");
    drafts[2_000] = bub_tape::event("stork", "{}").unwrap().dated("2024-02-29T12:00:00+00:00");
    for part in drafts.chunks(1_000) {
        kept.server().store().append(NAME, part.to_vec(), None).await.unwrap();
    }
    Tape::open(kept.open(), NAME).unwrap()
}

/// Paths of the requests since there were so many.
fn since(kept: &Kept, before: usize) -> Vec<String> {
    kept.server().asked().into_iter().skip(before).map(|asked| asked.path).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_of_a_long_tape_is_a_few_requests() {
    let kept = Kept::new().await;
    kept.server().searches(Searching::Served);
    let tape = long(&kept).await;
    let text = |text: &str| Some(text.to_owned());
    let queries = [
        (Query { text: text("HERON"), ..Query::default() }, vec![1_001]),
        (Query { text: text("heron"), newest_first: true, limit: Some(1), ..Query::default() }, vec![1_001]),
        (Query { text: text("no such bird"), ..Query::default() }, vec![]),
        (Query { kinds: vec!["event".to_owned()], ..Query::default() }, vec![2_001]),
        (Query { name: text("stork"), ..Query::default() }, vec![2_001]),
        (Query { since: text("2024-02-29"), until: text("2024-02-29"), ..Query::default() }, vec![2_001]),
    ];
    for (query, expected) in queries {
        let before = kept.server().asked().len();
        let found: Vec<u64> = tape.query(&query).await.unwrap().iter().map(|entry| entry.id).collect();
        assert_eq!(found, expected, "{query:?}");
        let asked = since(&kept, before);
        assert!(asked.len() <= 2 && asked.iter().all(|path| path.contains("/query?")), "{query:?}: {asked:?}");
    }
    // A search with few hits looks for misspelled words too.
    for (text, expected) in
        [("heron", vec![1_001]), ("haron", vec![1_001]), ("one herno", vec![1_001]), ("xyzzy", vec![])]
    {
        let before = kept.server().asked().len();
        let search = Search { text: text.to_owned(), ..Search::default() };
        let found: Vec<u64> = tape.search(&search).await.unwrap().iter().map(|hit| hit.entry.id).collect();
        assert_eq!(found, expected, "{text}");
        let asked = since(&kept, before);
        assert!(asked.len() <= 4 && asked.iter().all(|path| path.contains("/query?")), "{text}: {asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_search_is_queried_once_and_then_read() {
    let kept = Kept::new().await;
    kept.server().searches(Searching::Not);
    let tape = long(&kept).await;
    let before = kept.server().asked().len();
    let query = Query { text: Some("heron".to_owned()), ..Query::default() };
    assert_eq!(tape.query(&query).await.unwrap().len(), 1);
    let asked = since(&kept, before);
    let (queries, pages): (Vec<&String>, Vec<&String>) = asked.iter().partition(|path| path.contains("/query?"));
    assert!(queries.len() == 1 && pages.len() >= 20, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_text_can_be_searched_for() {
    let kept = Kept::new().await;
    kept.server().searches(Searching::Served);
    let tape = Tape::open(kept.open(), NAME).unwrap();
    let long = "é".repeat(40_000);
    let odd = "?a=b&c=%41#\"\\\u{0}\u{1b}[31m\r\nx-header: y + ü 🦩";
    tape.append([long.as_str(), odd, "neither"].map(message).to_vec()).await.unwrap();
    for (text, expected) in [(long.as_str(), 1), (odd, 2), ("#\"\\\u{0}", 2), ("🦩", 2), ("X-Header", 2)] {
        let query = Query { text: Some(text.to_owned()), ..Query::default() };
        let found: Vec<u64> = tape.query(&query).await.unwrap().iter().map(|entry| entry.id).collect();
        assert_eq!(found, [expected], "{}", &text[..text.len().min(20)]);
    }
    let kinds = (0..1_000).map(|n| format!("kind {n}")).chain(["message".to_owned()]).collect();
    assert_eq!(tape.query(&Query { kinds, ..Query::default() }).await.unwrap().len(), 3);
    assert!(kept.server().asked().iter().all(|asked| asked.path.len() < 8_000), "a path is too long for proxies");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_text_is_not_found_on_the_remote_store() {
    let kept = Kept::new().await;
    kept.server().searches(Searching::Served);
    let tape = Tape::open(kept.open(), NAME).unwrap().without_forgotten();
    tape.append(["a heron eats", "a stork eats"].map(message).to_vec()).await.unwrap();
    assert_eq!(tape.forget(&Words::new(["heron"]), &[], false).await.unwrap(), 1);
    let ids = |found: Vec<Entry>| found.iter().map(|entry| entry.id).collect::<Vec<_>>();
    let by_text = |text: &str| Query { text: Some(text.to_owned()), ..Query::default() };
    for tape in [tape.clone(), tape.fork()] {
        assert!(tape.query(&by_text("heron")).await.unwrap().is_empty());
        assert_eq!(ids(tape.query(&by_text("eats")).await.unwrap()), [2]);
        let search = Search { text: "eats".to_owned(), ..Search::default() };
        assert_eq!(tape.search(&search).await.unwrap().iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [2]);
        let messages = tape.query(&Query { kinds: vec!["message".to_owned()], ..Query::default() }).await.unwrap();
        assert!(messages[0].payload.contains("(forgotten)") && !messages[0].payload.contains("heron"));
    }
}

#[test]
fn a_person_searches_a_tape_that_another_machine_keeps() {
    let (home, server) = keeping();
    server.searches(Searching::Served);
    let model = Server::new([Answer::text("a heron"), Answer::text("a stork")]);
    home.run(["which bird"]).model(&model).finish().says("[cli:local]\na heron\n");
    home.run(["and now"]).model(&model).finish().says("[cli:local]\na stork\n");
    let before = server.asked().len();
    let finished = home.bub(["tape", "search", "heron"]).finish();
    assert!(finished.code == Some(0) && finished.stdout.contains("a heron"), "{finished}");
    assert!(!finished.stdout.contains("a stork"), "{finished}");
    let path = format!("/v1/tapes/{}/query?", name(&home, "cli:local"));
    assert!(server.asked().iter().skip(before).any(|asked| asked.path.starts_with(&path)));
}
