//! Revisions of tapes, and what is kept by them.

use bub_tape::{
    Erasure, JournalSettings, Journals, Revision, SessionSummary, Store, Tapes, event, name_session, session_summary,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::{NAME, Place, SIDE, all, message};

/// How long a store may give no revision of a tape after a write.
const SETTLED: Duration = Duration::from_secs(10);

/// The revision of the tape when it is no longer being written; `None` if the store tells none.
async fn revision(store: &Arc<dyn Store>, tape: &str) -> Option<Revision> {
    let (tape, begun) = ([tape.to_owned()], Instant::now());
    loop {
        if let [Some(revision)] = store.revisions(&tape).await.unwrap()[..] {
            return Some(revision);
        }
        if begun.elapsed() > SETTLED {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn a_revision_stays_until_the_next_write_of_any_process(place: &Place) {
    let (writer, reader) = (place.open(), place.open());
    let Some([missing]) = writer.revisions(&[NAME.to_owned()]).await.unwrap().first().map(|first| [*first]) else {
        panic!("a revision for each tape");
    };
    writer.append(NAME, vec![message("user", "one")], None).await.unwrap();
    writer.append(SIDE, vec![message("user", "beside")], None).await.unwrap();
    if missing.is_none() {
        assert_eq!(writer.revisions(&[NAME.to_owned(), SIDE.to_owned()]).await.unwrap(), [None, None]);
        return;
    }
    let mut seen = Vec::new();
    for step in 0..6 {
        let now = revision(&reader, NAME).await.expect("a store that tells revisions tells all");
        assert!(!seen.contains(&now), "step {step}");
        assert_eq!(revision(&reader, NAME).await, Some(now), "nothing was written");
        seen.push(now);
        match step {
            0 => drop(writer.append(NAME, vec![message("user", "two")], None).await.unwrap()),
            1 => drop(writer.append(NAME, vec![message("user", "3")], None).await.unwrap()),
            2 => {
                let first = all(&*writer, NAME).await.remove(0);
                let receipt = Erasure::new([&first]).with_receipt("a test").unwrap();
                assert_eq!(writer.erase(NAME, receipt).await.unwrap(), 1);
            }
            3 => drop(writer.reset(NAME, true).await.unwrap()),
            _ => drop(writer.append(NAME, vec![message("user", "one")], None).await.unwrap()),
        }
    }
}

/// Also directly after a write, and in another process.
pub async fn summaries_that_are_kept_are_those_of_the_tapes(place: &Place) {
    let dir = tempfile::tempdir().unwrap();
    let journals = || Arc::new(Journals::new(dir.path(), JournalSettings::default()));
    let (writing, reading) = (Tapes::new(place.open(), journals()), Tapes::new(place.open(), journals()));
    let names = [NAME.to_owned(), "aaaa__other".to_owned()];
    let (tape, other) = (writing.open(NAME).unwrap(), writing.open("aaaa__other").unwrap());
    other.append(vec![message("user", "of the other")]).await.unwrap();
    for step in 0..14 {
        for at in 0..3 {
            let expected: [SessionSummary; 2] =
                [session_summary(&tape).await.unwrap(), session_summary(&other).await.unwrap()];
            for tapes in [&writing, &reading] {
                assert_eq!(tapes.session_summaries(&names).await.unwrap(), expected, "step {step}, {at}");
            }
            if at == 1 && step % 4 == 3 {
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
        }
        let drafts = match step % 4 {
            0 => vec![message("user", &format!("words of step {step}"))],
            1 => vec![name_session(&format!("name {step}")).unwrap()],
            2 => vec![event("run", r#"{"usage": {"total_tokens": 7}}"#).unwrap()],
            _ => vec![message("assistant", "an answer")],
        };
        match step {
            6 => tape.forget_entries(&all(&*place.open(), NAME).await[..1]).await.unwrap(),
            10 => drop(writing.store().reset(NAME, true).await.unwrap()),
            _ => drop(tape.append(drafts).await.unwrap()),
        }
    }
}

/// Its name leaves no room for those of sidecars.
pub async fn a_tape_with_the_longest_name_is_read_as_any_other(place: &Place) {
    let (dir, name) = (tempfile::tempdir().unwrap(), "0".repeat(200));
    let tapes = Tapes::new(place.open(), Arc::new(Journals::new(dir.path(), JournalSettings::default())));
    let tape = tapes.open(&name).unwrap();
    tape.append(vec![message("user", "hello")]).await.unwrap();
    let hidden = tape.clone().without_forgotten();
    assert_eq!(hidden.read(0, 9).await.unwrap().len(), 1);
    assert_eq!(session_summary(&tape).await.unwrap().first_words.as_deref(), Some("hello"));
    assert_eq!(tapes.session_summaries(&[name]).await.unwrap()[0].entries, 1);
}
