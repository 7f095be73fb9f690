//! Thousands of random changes of tape, receipts, chain, heads and keys: each that the design claims to find is found, and
//! each that changes nothing that is read is no alarm.

use crate::home::{Home, RECEIPTS, TAPE, message, turn};
use bub_tape::{Entry, Erasure, FileStore, Store};
use bub_test_support::Chance;
use bub_test_support::tier::in_full;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// A home with everything in it that a chain has.
async fn eventful() -> Home {
    let home = Home::new();
    for number in 0..4 {
        home.chained().commit(turn(number)).await.unwrap();
    }
    let last = home.plain().last_id(TAPE).await.unwrap();
    let line = message("by Bub").numbered(last + 1).line();
    OpenOptions::new().append(true).open(home.file(TAPE)).unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    home.chained().commit(turn(4)).await.unwrap();
    home.folder().rotate().unwrap();
    let all = home.plain().read(TAPE, 0, usize::MAX).await.unwrap();
    let gone: Vec<&Entry> = all.iter().filter(|entry| entry.payload.contains("message 2")).collect();
    home.chained().erase(TAPE, Erasure::new(gone).with_receipt("the owner").unwrap()).await.unwrap();
    for number in 5..8 {
        home.chained().commit(turn(number)).await.unwrap();
    }
    home.is_whole().await;
    home
}

/// What a tampering leaves of a file. `None`: it would leave it as it is.
fn tampered(bytes: &[u8], chance: &mut Chance) -> Option<(&'static str, Vec<u8>)> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (one, other) = (chance.below(lines.len()), chance.below(lines.len()));
    let (what, changed) = match chance.below(9) {
        0 | 1 => {
            let mut changed = bytes.to_vec();
            let at = chance.below(changed.len());
            changed[at] ^= 1 << chance.below(8);
            ("flip", changed)
        }
        2 => {
            let mut changed = bytes.to_vec();
            let at = chance.below(changed.len());
            let count = 1 + chance.below(8);
            let new = chance.bytes(count);
            for (byte, new) in changed.iter_mut().skip(at).zip(new) {
                *byte = new;
            }
            ("overwrite", changed)
        }
        3 => {
            let mut kept = lines.clone();
            kept.drain(one..(one + 1 + chance.below(3)).min(lines.len()));
            ("remove", kept.concat())
        }
        4 => {
            let mut moved = lines.clone();
            moved.swap(one, other);
            ("swap", moved.concat())
        }
        5 => {
            let mut more = lines.clone();
            more.insert(one, lines[other]);
            ("repeat", more.concat())
        }
        6 => {
            let at = chance.below(bytes.len() + 1);
            ("truncate", bytes[..at].to_vec())
        }
        7 => ("cut", lines[..one].concat()),
        _ => {
            // A line with another digit in it, so that it still can be read.
            let mut line = lines[one].to_vec();
            let digits: Vec<usize> = (0..line.len()).filter(|at| line[*at].is_ascii_digit()).collect();
            let at = *chance.one_of(&digits);
            line[at] = b'0' + (line[at] - b'0' + 1 + u8::try_from(chance.below(9)).unwrap_or(0)) % 10;
            let mut changed = lines.clone();
            changed[one] = &line;
            ("digit", changed.concat())
        }
    };
    (changed != bytes).then_some((what, changed))
}

async fn read(home: &Home, name: &str) -> Vec<Entry> {
    FileStore::open(home.tapes()).unwrap().read(name, 0, usize::MAX).await.unwrap()
}

#[tokio::test]
async fn what_the_design_claims_to_find_is_found() {
    let home = eventful().await;
    let chain = format!("{TAPE}__sidecar__chain");
    let names = [TAPE, RECEIPTS, &chain];
    let audit = |name: &str| home.dir.path().join("audit").join(name);
    let files: Vec<(PathBuf, Option<&str>)> = names
        .iter()
        .map(|name| (home.file(name), Some(*name)))
        .chain([(audit("heads.jsonl"), None), (audit("keys.jsonl"), None)])
        .collect();
    let (mut found, mut harmless, mut shown, mut unclaimed) = (0, 0, 0, 0);
    let count = in_full(10_000, 400);
    for seed in 0..count {
        let mut chance = Chance::new(seed);
        let (path, name) = chance.one_of(&files);
        let before = fs::read(path).unwrap();
        let Some((what, after)) = tampered(&before, &mut chance) else { continue };
        let entries = match name {
            Some(name) => read(&home, name).await,
            None => Vec::new(),
        };
        fs::write(path, &after).unwrap();
        let report = home.verify().await;
        let about = || format!("seed {seed}: {what} in {}: {report:?}", path.display());
        match name {
            Some(name) => {
                let changed = read(&home, name).await;
                let is_more = changed.len() > entries.len() && changed.starts_with(&entries) && *name != chain;
                match (changed == entries, is_more) {
                    (true, _) => {
                        assert!(report.faults.is_empty(), "a false alarm, {}", about());
                        harmless += 1;
                    }
                    (false, true) => {
                        assert!(report.unchained > 0, "not shown, {}", about());
                        shown += 1;
                    }
                    (false, false) => {
                        assert!(!report.faults.is_empty(), "not found, {}", about());
                        found += 1;
                    }
                }
            }
            // Lines that were cut off at the end of the heads, or all of them, are what a witness is for.
            None if path.ends_with("heads.jsonl") && before.starts_with(&after) && ends_a_line(&after) => {
                unclaimed += 1
            }
            // Only the end of the last line is gone.
            None if before.trim_ascii_end() == after => harmless += 1,
            None => {
                assert!(!report.faults.is_empty(), "not found, {}", about());
                found += 1;
            }
        }
        fs::write(path, &before).unwrap();
    }
    home.is_whole().await;
    println!("{found} found, {shown} shown as unchained, {harmless} without effect, {unclaimed} for a witness");
    assert!(found > count / 2, "{found} of {count}");
}

#[tokio::test]
async fn a_change_of_any_digit_of_the_chain_is_found() {
    let home = eventful().await;
    let chain = format!("{TAPE}__sidecar__chain");
    let path = home.file(&chain);
    let (before, entries) = (fs::read(&path).unwrap(), read(&home, &chain).await);
    for at in (0..before.len()).filter(|at| before[*at].is_ascii_digit()) {
        let mut after = before.clone();
        after[at] = b'0' + (after[at] - b'0' + 1 + u8::try_from(at % 9).unwrap_or(0)) % 10;
        fs::write(&path, &after).unwrap();
        let report = home.verify().await;
        let is_same = read(&home, &chain).await == entries;
        assert!(is_same || !report.faults.is_empty(), "byte {at} became `{}`: {report:?}", after[at] as char);
    }
}

fn ends_a_line(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes.ends_with(b"\n")
}
