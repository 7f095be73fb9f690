//! All that reads a tape, held against a reader that is too simple to be wrong.

use bub_tape::{Collector, Entry, Lookup, Query, Renderer, Search, Start, Store, Tape, json, view};

use super::input::Input;

/// The entry on a line.
pub(crate) fn entry(line: &[u8]) -> Option<Entry> {
    Entry::parse(std::str::from_utf8(line).ok()?)
}

/// The largest id that a line may claim.
const LARGEST: u64 = (1 << 53) - 1;

/// The entries of a file, under the ids that they are read under, and how many of its lines hold none.
fn simple(file: &[u8]) -> (Vec<Entry>, u64) {
    let mut lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
    // Nothing behind the last newline, or a torn line; neither counts.
    lines.pop_if(|line| entry(line).is_none());
    let mut entries: Vec<Entry> = lines.iter().filter_map(|line| entry(line)).collect();
    let mut last = 0;
    for entry in &mut entries {
        last = if entry.id > last && entry.id <= LARGEST { entry.id } else { last + 1 };
        entry.id = last;
    }
    for (entry, line) in lines.iter().filter_map(|line| Some((entry(line)?, std::str::from_utf8(line).ok()?))) {
        let stands = |text: &str| line.contains(text);
        assert!(stands(&entry.payload) && (stands(&entry.meta) || *entry.meta == *"{}"), "as it is written: {line}");
    }
    let unreadable = lines.len() - entries.len();
    (entries, unreadable as u64)
}

/// Reads the tape in every way, and compares. All its entries.
pub(crate) async fn read(store: &dyn Store, tape: &Tape, input: &Input) -> Vec<Entry> {
    let name = tape.name();
    let all = tape.tail(None, usize::MAX).await.expect("the end of a tape can be read");
    if input.slot.is_none() {
        let (simple, unreadable) = simple(&input.tape);
        assert_eq!(all, simple, "the content of the file");
        let info = tape.info().await.expect("a tape can be counted");
        if input.index.is_none() {
            assert_eq!((info.entries, info.unreadable), (all.len() as u64, unreadable));
            assert_eq!(info.anchors, all.iter().filter(|entry| entry.begins_phase()).count() as u64);
        }
    }
    tape.info().await.expect("a tape can be counted");
    assert_eq!(tape.read(0, usize::MAX).await.expect("a tape can be read"), all, "forward as backward");
    assert_eq!(tape.last_id().await.expect("a tape has an end"), all.last().map_or(0, |entry| entry.id));
    each(&all);
    from_the_end(store, name, &all, input).await;
    searches(store, name, &all, input).await;
    queries(tape, &all, input).await;
    assert!(all.is_sorted_by(|one, next| one.id < next.id) && all.first().is_none_or(|first| first.id > 0));
    in_pages(tape, &all).await;
    before_some(store, name, &all, input).await;
    all
}

/// Checks each entry by itself.
fn each(all: &[Entry]) {
    let mut renderer = Renderer::new();
    for entry in all {
        assert_eq!(Entry::parse(&entry.line()).as_ref(), Some(entry), "a line that is written is read back");
        assert!(json::fields(&entry.payload).is_ok() && json::fields(&entry.meta).is_ok());
        let _seen = (view::sees(entry), entry.event_name(), entry.anchor_name());
        renderer.push(entry);
    }
    for message in renderer.finish() {
        assert!(json::fields(&message).is_ok(), "a chat message is an object: {message}");
    }
}

/// Checks lookups from a tape's end.
async fn from_the_end(store: &dyn Store, name: &str, all: &[Entry], input: &Input) {
    let since = store.since_anchor(name).await.expect("a view has a beginning");
    let begin = all.iter().rposition(Entry::begins_phase).unwrap_or(0);
    assert_eq!(Some(&*since), all.get(begin..), "the window of a view");
    for lookup in lookup(all, input) {
        let newest = store.newest(name, &lookup, None).await.expect("the newest can be looked for");
        let expected = all.iter().rev().find(|entry| lookup.matches(entry));
        // An index whose checksum holds may say that there is none.
        assert!(newest.as_ref() == expected || input.index.is_some() && newest.is_none(), "the newest {lookup:?}");
    }
}

fn lookup(all: &[Entry], input: &Input) -> Vec<Lookup> {
    let mut lookup = vec![Lookup::Phase, Lookup::Anchor, Lookup::anchor(&input.ask), Lookup::event(&input.ask)];
    for entry in all.first().into_iter().chain(all.get(all.len() / 2)) {
        lookup.push(Lookup::Kind(entry.kind.to_string()));
        lookup.extend(entry.name().map(|name| Lookup::Named { kind: entry.kind.to_string(), name }));
    }
    lookup
}

/// A search, whose two passes leave out lines at a glance, finds what one finds that reads every entry.
async fn searches(store: &dyn Store, name: &str, all: &[Entry], input: &Input) {
    let kinds = all.first().map(|entry| vec![entry.kind.to_string()]).unwrap_or_default();
    for (limit, kinds) in [(2, Vec::new()), (20, kinds)] {
        let since = (limit == 2).then(|| "2026-11-21".to_owned());
        let search = Search { text: input.ask.clone(), limit, kinds, since, ..Search::default() };
        let expected = Collector::new(&search).map(|mut found| {
            let _enough = all.iter().rev().try_for_each(|entry| found.offer(entry.clone()));
            found.finish()
        });
        match (store.search(name, &search, None).await, expected) {
            (Ok(hits), Ok(expected)) => assert_eq!(hits, expected, "a search for `{}`", input.ask),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string()),
            (found, expected) => panic!("{found:?} and not {expected:?}"),
        }
    }
}

async fn queries(tape: &Tape, all: &[Entry], input: &Input) {
    let after = all.get(all.len() / 2).map_or(0, |entry| entry.id);
    let between = Start::BetweenAnchors("session/start".to_owned(), input.ask.clone());
    let name = Start::AfterAnchor(input.ask.clone());
    let starts = [
        (Start::First, true),
        (Start::LastAnchor, false),
        (name, true),
        (between, false),
        (Start::AfterId(after), false),
    ];
    for (start, newest_first) in starts {
        let query = Query { start: start.clone(), newest_first, ..Query::default() };
        let found = tape.query(&query).await;
        let one = tape.query(&Query { limit: Some(1), ..query.clone() }).await;
        match (&found, &one) {
            (Ok(found), Ok(one)) => assert_eq!(one.first(), found.first(), "{query:?}"),
            (found, one) => assert_eq!(found.is_err(), one.is_err()),
        }
        if start == Start::First {
            let text = Query { text: Some(input.ask.clone()), kinds: vec!["event".to_owned()], ..query };
            let held = tape.query(&text).await.expect("a tape can be asked");
            let found = found.unwrap_or_default();
            assert!(held.iter().all(|entry| entry.is("event") && found.contains(entry)));
        }
    }
}

/// In pages, from either end.
async fn in_pages(tape: &Tape, all: &[Entry]) {
    let step = (all.len() / 5).max(1);
    let (mut forward, mut after) = (Vec::new(), 0);
    while let page = tape.read(after, step).await.expect("a page can be read")
        && let Some(last) = page.last()
    {
        assert!(last.id > after && page.len() <= step);
        after = last.id;
        forward.extend(page);
    }
    assert_eq!(forward, all, "in pages of {step}");
    let (mut backward, mut before) = (Vec::new(), None);
    while let page = tape.tail(before, step).await.expect("a page can be read")
        && let Some(first) = page.first()
    {
        before = Some(first.id);
        backward.extend(page.into_iter().rev());
    }
    backward.reverse();
    assert_eq!(backward, all, "in pages of {step} from the end");
    let back = Query { newest_first: true, ..Query::default() };
    let mut answer = tape.query(&back).await.expect("all can be asked for");
    answer.reverse();
    assert_eq!(answer, all, "the answer of a query");
}

/// Checks the entries before an entry.
async fn before_some(store: &dyn Store, name: &str, all: &[Entry], input: &Input) {
    for place in [0, all.len() / 3, all.len().saturating_sub(1)] {
        let Some(entry) = all.get(place) else { continue };
        for lookup in [Lookup::Phase, Lookup::Kind(entry.kind.to_string())] {
            let newest = store.newest(name, &lookup, Some(entry.id)).await.expect("the newest can be looked for");
            let expected = all.iter().take(place).rfind(|entry| lookup.matches(entry));
            assert!(
                newest.as_ref() == expected || input.index.is_some() && newest.is_none(),
                "the newest {lookup:?} before {}",
                entry.id
            );
        }
    }
}
