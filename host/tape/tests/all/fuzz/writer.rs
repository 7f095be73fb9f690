//! All that writes a tape, whatever its files say: what could be read before is read after it.

use bub_tape::{Draft, Entry, Tape, Tapes, event, sidecar_name};

use super::input::Input;
use super::look::{Files, NAME, SIDECAR, bytes, is_clean};

/// How many entries of the tape are written to it again.
const COPIED: usize = 6;

/// Whether every write must be taken. Invalid content with a valid checksum may be refused.
fn is_due(input: &Input) -> bool {
    !input.slot_sealed && !input.turn_sealed
}

/// Appends behind whatever stands there. Whether it was taken.
pub(crate) async fn append(files: &Files, tape: &Tape, input: &Input, all: &[Entry]) -> bool {
    let draft = event("fuzz", r#"{"n": 1}"#).expect("it is an event");
    let before = files.tape();
    let id = match tape.append(vec![draft.clone()]).await {
        Ok(id) => id,
        Err(error) => {
            assert!(input.slot_sealed && is_clean(error), "an append is taken");
            return false;
        }
    };
    let after = tape.tail(None, usize::MAX).await.expect("the tape can be read");
    assert_eq!(files.again().await, after, "the answer to another process");
    let (last, kept) = after.split_last().expect("an entry was appended");
    assert_eq!(last, &draft.numbered(id));
    assert_eq!(id, kept.last().map_or(0, |entry| entry.id) + 1);
    if input.slot.is_some() {
        // Unconfirmed writes become visible now.
        assert!(kept.starts_with(all), "readable entries stay");
        return true;
    }
    assert_eq!(kept, all, "readable entries stay");
    let whole = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let (lines, tail) = before.split_at(whole);
    let now = files.tape();
    assert!(now.starts_with(lines), "no line is touched");
    let aside = bytes(&files.path(".torn"));
    assert!(aside.starts_with(input.torn.as_deref().unwrap_or_default()), "torn lines are added");
    let holds = |file: &[u8]| file.windows(tail.len()).any(|window| window == tail);
    assert!(tail.is_empty() || holds(&now) || holds(&aside), "a torn line is set aside");
    true
}

/// A turn that finds what the journal says, one that is interrupted, and one that ends.
pub(crate) async fn turns(files: &Files, tapes: &Tapes, input: &Input) {
    let before = files.again().await;
    let left = tapes.journals().left(NAME).await.expect("a journal can be read");
    let journal = bytes(&files.path(".turn"));
    let fork = match tapes.begin(NAME).await {
        Ok((fork, recovered)) => {
            assert_eq!(recovered, left);
            fork
        }
        Err(error) => {
            assert!(!is_due(input) && is_clean(error), "a turn begins");
            assert_eq!(bytes(&files.path(".turn")), journal, "an unrecoverable journal is kept");
            return;
        }
    };
    let after = files.again().await;
    if !bytes_hold(input.turn.as_deref().unwrap_or_default(), b"\"reset\"") {
        assert!(after.starts_with(&before), "a recovery only adds");
    }
    // The entries of a tape can be written to a tape.
    let copies: Vec<Draft> = after.iter().rev().take(COPIED).cloned().map(Draft::from).collect();
    fork.keep_prompt(&input.ask).expect("the journal takes it");
    let beside = fork.sidecar(SIDECAR).expect("that is a name");
    let wrote = async {
        fork.append(copies.clone()).await?;
        beside.append(copies.clone()).await
    };
    if let Err(error) = wrote.await {
        assert!(is_sidecar_full(input) && is_clean(error), "a turn writes");
        return;
    }
    fork.close();
    drop((fork, beside));
    let (fork, recovered) = match tapes.begin(NAME).await {
        Ok((fork, recovered)) => (fork, recovered.expect("an interrupted turn is recovered")),
        Err(error) => {
            assert!(input.slot_sealed && is_clean(error), "an interrupted turn is recovered");
            return;
        }
    };
    assert_eq!(recovered.entries, 2 * copies.len());
    let again = files.again().await;
    let added = again.strip_prefix(&*after).expect("a recovery only adds");
    let added: Vec<Draft> = added.iter().take(copies.len()).cloned().map(Draft::from).collect();
    assert_eq!(added, copies, "a recovery brings back what was written");
    let beside = sidecar_name(NAME, SIDECAR).expect("that is a name");
    let beside = tapes.store().tail(&beside, None, copies.len()).await.expect("a sidecar can be read");
    assert_eq!(beside.into_iter().map(Draft::from).collect::<Vec<_>>(), copies);
    fork.append(vec![event("fuzz.end", "{}").expect("it is an event")]).await.expect("a turn writes");
    fork.merge().await.expect("a turn ends");
    fork.close();
    let ended = files.again().await;
    assert!(ended.starts_with(&again) && ended.len() == again.len() + 1);
    assert_eq!(tapes.journals().left(NAME).await.expect("a journal can be read"), None);
}

/// Puts the tape away, and begins it anew.
pub(crate) async fn reset(files: &Files, tape: &Tape, input: &Input) {
    let before = files.tape();
    let archive = match tape.reset(true).await {
        Ok(archive) => archive,
        Err(error) => {
            assert!((!is_due(input) || is_sidecar_full(input)) && is_clean(error), "a tape can be emptied");
            return;
        }
    };
    assert_eq!(files.again().await, []);
    let archived = archive.map(|archive| bytes(&files.dir().join(archive))).unwrap_or_default();
    if is_due(input) {
        assert_eq!(archived, before, "an archive is the tape");
    }
    assert!(tape.bootstrap().await.is_ok_and(|began| began), "an empty tape begins");
    assert_eq!(files.again().await.first().map(|entry| entry.id), Some(1));
}

/// Whether ids may have run out in the sidecar, which was not read.
fn is_sidecar_full(input: &Input) -> bool {
    input.sidecar.is_some()
}

fn bytes_hold(bytes: &[u8], lookup: &[u8]) -> bool {
    bytes.windows(lookup.len()).any(|window| window == lookup)
}
