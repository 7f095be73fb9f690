//! What is right stays right, and what is wrong is named.

use crate::home::{Home, RECEIPTS, TAPE, message, turn, with_turns};
use bub_audit::FaultKind;
use bub_tape::{Batch, Commit, Entry, Erasure, Error, Note, Outcome, Store};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Arc;

#[tokio::test]
async fn turns_in_processes_of_their_own_are_one_chain() {
    let home = with_turns(5).await;
    let report = home.is_whole().await;
    assert_eq!((report.entries, report.unchained, report.records), (17, 0, 5));
}

#[tokio::test]
async fn a_write_that_is_repeated_under_its_key_is_on_the_chain_once() {
    let home = with_turns(1).await;
    let again = turn(1);
    assert!(matches!(home.chained().commit(again.clone()).await.unwrap(), Outcome::Stored(_)));
    assert_eq!(home.chained().commit(again.clone()).await.unwrap(), Outcome::Already);
    // Also where it expects the end that the tape had before.
    let mut expecting = again;
    expecting.batches.iter_mut().for_each(|batch| batch.expect_last = Some(0));
    assert_eq!(home.chained().commit(expecting.clone()).await.unwrap(), Outcome::Already);
    expecting.key = Some("another".to_owned());
    assert!(matches!(home.chained().commit(expecting).await, Err(Error::Conflict { .. })));
    assert_eq!(home.is_whole().await.records, 2);
}

#[tokio::test]
async fn two_writers_in_two_processes_share_one_chain() {
    let home = Arc::new(with_turns(1).await);
    let writers = (0..4).map(|writer| {
        let home = Arc::clone(&home);
        tokio::spawn(async move {
            let store = home.chained();
            for number in 0..10 {
                store.append(TAPE, vec![message(&format!("{writer} {number}"))], None).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let report = home.is_whole().await;
    assert_eq!(report.entries, 5 + 40);
}

#[tokio::test]
async fn a_tape_from_before_the_chain_begins_unchained() {
    let home = Home::new();
    for number in 0..100 {
        home.plain().append(TAPE, vec![message(&number.to_string())], None).await.unwrap();
    }
    assert_eq!(home.is_whole().await.unchained, 100);
    home.chained().commit(turn(1)).await.unwrap();
    let report = home.is_whole().await;
    assert_eq!((report.entries, report.unchained), (103, 100));
    // A turn reads none of them; on demand they are put on the chain, once.
    home.chained().complete(TAPE).await.unwrap();
    let records = home.is_whole().await.records;
    home.chained().complete(TAPE).await.unwrap();
    let report = home.is_whole().await;
    assert_eq!((report.unchained, report.records), (0, records));
    home.chained().commit(turn(2)).await.unwrap();
    let text = fs::read_to_string(home.file(TAPE)).unwrap().replace(r#""content": "7""#, r#""content": "8""#);
    fs::write(home.file(TAPE), text).unwrap();
    assert_eq!(home.wrong().await, ["entry 8 was changed"]);
}

#[tokio::test]
async fn entries_of_another_program_are_unchained_until_the_next_write() {
    let home = with_turns(2).await;
    let last = home.plain().last_id(TAPE).await.unwrap();
    let line = message("by Bub").numbered(last + 1).line();
    OpenOptions::new().append(true).open(home.file(TAPE)).unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    assert_eq!(home.is_whole().await.unchained, 1);
    home.chained().commit(turn(2)).await.unwrap();
    assert_eq!(home.is_whole().await.unchained, 0);
    // From then on a change of it is found.
    let text = fs::read_to_string(home.file(TAPE)).unwrap().replace("by Bub", "by bub");
    fs::write(home.file(TAPE), text).unwrap();
    assert_eq!(home.wrong().await, [format!("entry {} was changed", last + 1)]);
}

#[tokio::test]
async fn an_erasure_is_a_record_and_its_entries_may_be_gone() {
    let home = with_turns(3).await;
    let all = home.plain().read(TAPE, 0, usize::MAX).await.unwrap();
    let gone: Vec<&Entry> = all.iter().filter(|entry| entry.payload.contains("message 1") || entry.id == 1).collect();
    let erasure = Erasure::new(gone.iter().copied()).with_receipt("the owner").unwrap();
    assert_eq!(home.chained().erase(TAPE, erasure).await.unwrap(), 2);
    home.is_whole().await;
    home.chained().commit(turn(3)).await.unwrap();
    let report = home.is_whole().await;
    assert_eq!(report.unchained, 0);
    // The anchor at the beginning has lost its words, and may not get others.
    let text = fs::read_to_string(home.file(TAPE)).unwrap().replacen("(forgotten)", "(Forgotten)", 1);
    fs::write(home.file(TAPE), text).unwrap();
    assert_eq!(home.wrong().await, ["entry 1 was changed"]);
}

#[tokio::test]
async fn an_erasure_that_does_not_happen_leaves_its_entries_guarded() {
    let home = with_turns(2).await;
    let all = home.plain().read(TAPE, 0, usize::MAX).await.unwrap();
    // Of entries that are gone meanwhile nothing is erased.
    let other = Entry { payload: r#"{"role": "user", "content": "other"}"#.into(), ..all[3].clone() };
    assert_eq!(home.chained().erase(TAPE, Erasure::new([&other])).await.unwrap(), 0);
    home.is_whole().await;
    let lines = fs::read_to_string(home.file(TAPE)).unwrap();
    let kept: String =
        lines.split_inclusive('\n').enumerate().filter(|(at, _)| *at != 3).map(|(_, line)| line).collect();
    fs::write(home.file(TAPE), kept).unwrap();
    assert_eq!(home.wrong().await, ["entry 4 was removed"]);
}

#[tokio::test]
async fn a_reset_begins_a_chain_that_names_the_one_before() {
    let home = with_turns(2).await;
    for archives in [true, false] {
        home.chained().reset(TAPE, archives).await.unwrap();
        home.is_whole().await;
        home.chained().commit(turn(0)).await.unwrap();
        home.chained().commit(turn(1)).await.unwrap();
        assert_eq!(home.is_whole().await.unchained, 0);
    }
    // The files as they were before the last reset are not the tape.
    let (tape, chain) = (home.file(TAPE), home.file("aaaa__bbbb__sidecar__chain"));
    let before = (fs::read(&tape).unwrap(), fs::read(&chain).unwrap());
    home.chained().reset(TAPE, false).await.unwrap();
    home.chained().commit(turn(0)).await.unwrap();
    home.is_whole().await;
    fs::write(tape, before.0).unwrap();
    fs::write(chain, before.1).unwrap();
    assert!(!home.wrong().await.is_empty());
}

#[tokio::test]
async fn a_sidecar_is_emptied_and_written_again() {
    let home = with_turns(2).await;
    home.chained().reset(RECEIPTS, false).await.unwrap();
    home.is_whole().await;
    home.chained().commit(turn(2)).await.unwrap();
    home.is_whole().await;
}

#[tokio::test]
async fn a_copy_begins_with_the_head_of_its_origin() {
    let home = with_turns(2).await;
    let store = home.chained();
    let (from, to) = (TAPE.to_owned(), "aaaa__cccc");
    store.note(to, Note::Fork { from, through: None }).await.unwrap();
    let entries = home.plain().read(TAPE, 0, usize::MAX).await.unwrap();
    store.append_numbered(to, 0, entries).await.unwrap();
    let report = bub_audit::verify(&store, to, &[]).await.unwrap();
    assert_eq!((report.faults.len(), report.entries, report.unchained), (0, 6, 0));
    let first = home.plain().read("aaaa__cccc__sidecar__chain", 0, 1).await.unwrap().remove(0);
    assert!(first.payload.contains(r#""seq": 2"#), "{}", first.payload);
}

#[tokio::test]
async fn the_digest_of_a_recording_is_on_the_chain() {
    let home = with_turns(1).await;
    let (turn, digest) = ("turn-7".to_owned(), "ab".repeat(32));
    home.chained().note(TAPE, Note::Recording { turn: turn.clone(), digest: digest.clone() }).await.unwrap();
    let report = home.is_whole().await;
    assert_eq!((&report.recordings[0].turn, &report.recordings[0].digest), (&turn, &digest));
}

#[tokio::test]
async fn no_caller_writes_the_chain_itself() {
    let home = with_turns(1).await;
    let batch = Batch { tape: format!("{TAPE}__sidecar__chain"), drafts: vec![message("x")], ..Batch::default() };
    let refused = home.chained().commit(Commit { key: None, batches: vec![batch] }).await.unwrap_err();
    assert_eq!(refused.to_string(), "the sidecar `chain` is written by the program alone");
    assert_eq!(home.chained().sidecars(TAPE).await.unwrap(), [RECEIPTS]);
}

#[tokio::test]
async fn a_chain_that_was_made_anew_does_not_fit_its_signed_heads() {
    let home = with_turns(3).await;
    // Another text, and a chain that fits it.
    let text = fs::read_to_string(home.file(TAPE)).unwrap().replace("message 1", "message X");
    fs::write(home.file(TAPE), text).unwrap();
    fs::remove_file(home.file("aaaa__bbbb__sidecar__chain")).unwrap();
    bub_audit::ChainedStore::new(home.plain(), None).complete(TAPE).await.unwrap();
    let report = home.verify().await;
    assert_eq!(report.faults[0].kind, FaultKind::CutOff, "{report:?}");
}

#[tokio::test]
async fn a_chain_that_is_gone_is_missed_by_its_signed_heads() {
    let home = with_turns(3).await;
    fs::remove_file(home.file("aaaa__bbbb__sidecar__chain")).unwrap();
    assert_eq!(home.verify().await.faults[0].kind, FaultKind::CutOff);
}

#[tokio::test]
async fn a_key_is_replaced_and_the_heads_of_the_old_one_stay_valid() {
    let home = with_turns(2).await;
    let old = home.folder().current().unwrap();
    let new = home.folder().rotate().unwrap();
    assert_eq!(new.previous, Some(old.clone()));
    home.chained().commit(turn(2)).await.unwrap();
    home.is_whole().await;
    let keys = home.folder().keys().unwrap();
    let signed: Vec<String> = home.folder().heads(&keys).unwrap().heads.into_iter().map(|head| head.key).collect();
    assert_eq!(signed, [old.clone(), old, new.id]);
}

#[tokio::test]
async fn a_broken_chain_never_holds_up_a_write() {
    let home = with_turns(2).await;
    let chain = home.file("aaaa__bbbb__sidecar__chain");
    let text = fs::read_to_string(&chain).unwrap();
    fs::write(&chain, text.replacen(r#""seq": 2"#, r#""seq": 9"#, 1)).unwrap();
    home.chained().commit(turn(2)).await.unwrap();
    assert_eq!(home.wrong().await[0], "record 2 of the chain was changed");
}

#[tokio::test]
async fn a_witness_knows_what_was_cut_off() {
    let home = with_turns(3).await;
    let (keys, heads) = (home.folder().keys().unwrap(), home.dir.path().join("audit/heads.jsonl"));
    let witness = fs::read(&heads).unwrap();
    let check = || bub_audit::check_witness(&*witness, &home.folder().heads(&keys).unwrap(), &keys).unwrap();
    let (witnessed, faults) = check();
    assert_eq!((witnessed[TAPE].seq, faults.len()), (3, 0));
    // Tape, chain and heads as they were a turn ago: only the witness can tell.
    let cut = |name: &str, lines: usize| {
        let text = fs::read_to_string(name).unwrap();
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        fs::write(name, all[..all.len() - lines].concat()).unwrap();
    };
    for (file, lines) in [(TAPE, 2), (RECEIPTS, 1), ("aaaa__bbbb__sidecar__chain", 1)] {
        cut(home.file(file).to_str().unwrap(), lines);
    }
    assert_eq!(home.verify().await.faults[0].kind, FaultKind::CutOff);
    cut(heads.to_str().unwrap(), 1);
    home.is_whole().await;
    assert_eq!(
        check().1[0].to_string(),
        "line 3 of the witness and what followed was cut off (the signed heads do not have it)"
    );
}

#[tokio::test]
async fn a_statement_is_signed_as_dsse_says() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let home = with_turns(1).await;
    let head = home.chained().complete(TAPE).await.unwrap().unwrap();
    let envelope = bub_audit::envelope(&home.folder(), std::slice::from_ref(&head)).unwrap();
    let decode = |value: &serde_json::Value| STANDARD.decode(value.as_str().unwrap()).unwrap();
    let (payload, signature) = (decode(&envelope["payload"]), decode(&envelope["signatures"][0]["sig"]));
    let text = String::from_utf8(payload).unwrap();
    let statement: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(statement["subject"][0]["digest"]["sha256"], head.hash);
    let kind = "application/vnd.in-toto+json";
    let signed = format!("DSSEv1 {} {kind} {} {text}", kind.len(), text.len());
    let key = home.folder().keys().unwrap().keys.remove(0);
    let public = STANDARD.decode(key.public).unwrap();
    let verifier = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, public);
    assert!(verifier.verify(signed.as_bytes(), &signature).is_ok());
    assert!(verifier.verify(&signed.as_bytes()[1..], &signature).is_err());
}
