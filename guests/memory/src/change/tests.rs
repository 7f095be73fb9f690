//! Two concurrent writers, with writes interrupted between any two entries.

use super::*;
use crate::snapshot::tests::part;
use crate::zone;
use bub_guest::tape::Entry;
use std::cell::RefCell;
use std::rc::Rc;

/// A shared tape, as the host keeps it.
#[derive(Default, Clone)]
struct Tape(Rc<RefCell<Vec<Entry>>>);

/// A writer's view. `before_write` runs between its read and its write; `cut` is the number of entries after which its
/// next write is interrupted.
struct Writer {
    tape: Tape,
    before_write: RefCell<Vec<Box<dyn FnOnce()>>>,
    cut: RefCell<Option<usize>>,
}

impl Tape {
    fn writer(&self) -> Writer {
        Writer { tape: self.clone(), before_write: RefCell::default(), cut: RefCell::default() }
    }

    fn append(&self, entries: &[Draft]) {
        let mut tape = self.0.borrow_mut();
        for draft in entries {
            let id = tape.len() as u64 + 1;
            let (kind, payload, meta) = (draft.kind.clone(), draft.payload.clone(), draft.meta.clone());
            tape.push(Entry { id, kind, payload, meta, date: String::new() });
        }
    }

    /// The complete section with the highest version, as the host finds it.
    fn zone(&self) -> Option<Snapshot> {
        let tape = self.0.borrow();
        let version = |entry: &Entry, name: &str| {
            let payload: serde_json::Value = serde_json::from_str(&entry.payload).ok()?;
            if payload["name"] == name { payload["state"]["version"].as_u64() } else { None }
        };
        let mut best: Option<(u64, usize, usize)> = None;
        for (seal, entry) in tape.iter().enumerate() {
            let Some(sealed) = version(entry, "memory/seal") else { continue };
            let before = tape.get(..seal)?;
            let open = before.iter().rposition(|entry| version(entry, "memory/open") == Some(sealed));
            if let Some(open) = open
                && best.is_none_or(|(highest, ..)| highest <= sealed)
            {
                best = Some((sealed, open, seal));
            }
        }
        let (_, open, seal) = best?;
        zone::read(tape.get(open..=seal)?)
    }
}

impl Shelf for Writer {
    fn read(&self) -> Result<(Option<Snapshot>, u64)> {
        Ok((self.tape.zone(), self.tape.0.borrow().len() as u64))
    }

    fn write(&self, seen: u64, entries: &[Draft]) -> Result<()> {
        let others = self.before_write.borrow_mut().pop();
        if let Some(others) = others {
            others();
        }
        if self.tape.0.borrow().len() as u64 != seen {
            return Err(Error::new(ErrorKind::Conflict, "another writer was first"));
        }
        if let Some(cut) = self.cut.borrow_mut().take() {
            self.tape.append(entries.get(..cut).unwrap_or(entries));
            // A crashed caller gets no answer, whether the entry was written or not.
            return Err(Error::new(ErrorKind::Unknown, "crashed"));
        }
        self.tape.append(entries);
        Ok(())
    }
}

fn note(writer: &Writer, text: &str) -> Result<()> {
    change(writer, |zone| {
        zone.add_note("2026-02-10", part(text));
        Ok(Changed::Write(()))
    })
}

/// The texts that the section does not contain.
fn lost(tape: &Tape, texts: &[String]) -> Vec<String> {
    let zone = tape.zone().unwrap_or_default();
    let content = zone.note("2026-02-10").map_or("", |part| part.content.as_str());
    texts.iter().filter(|text| !content.lines().any(|line| line == *text)).cloned().collect()
}

#[test]
fn a_change_is_the_next_version() {
    let tape = Tape::default();
    let writer = tape.writer();
    for version in 1..=5 {
        note(&writer, &format!("- {version}")).expect("it is written");
        assert_eq!(tape.zone().map(|zone| zone.version), Some(version));
    }
}

#[test]
fn an_unchanged_section_is_not_written() {
    let tape = Tape::default();
    assert_eq!(change(&tape.writer(), |_| Ok(Changed::Leave(7))).ok(), Some(7));
    assert!(tape.0.borrow().is_empty());
}

#[test]
fn nothing_is_written_after_the_last_version() {
    let tape = Tape::default();
    tape.append(&zone::write(&Snapshot::empty(u64::MAX)));
    let before = tape.0.borrow().len();
    let refusal = note(&tape.writer(), "- x").expect_err("it is refused");
    assert!(refusal.message.contains("versions are used up"), "{}", refusal.message);
    assert_eq!(tape.0.borrow().len(), before);
}

#[test]
fn a_section_that_is_too_large_is_rejected() {
    let tape = Tape::default();
    let refusal = note(&tape.writer(), &"x".repeat(MAX_ZONE)).expect_err("it is refused");
    assert_eq!(refusal.kind, ErrorKind::InvalidInput);
    assert!(tape.0.borrow().is_empty());
}

#[test]
fn five_conflicts_are_retried_and_a_sixth_is_reported() {
    for (conflicts, expected) in [(RETRIES, true), (RETRIES + 1, false)] {
        let tape = Tape::default();
        let writer = tape.writer();
        for turn in 0..conflicts {
            let other = tape.writer();
            writer.before_write.borrow_mut().push(Box::new(move || {
                note(&other, &format!("- other {turn}")).expect("no other writer disturbs this one");
            }));
        }
        assert_eq!(note(&writer, "- mine").is_ok(), expected);
        assert_eq!(lost(&tape, &["- mine".to_owned()]).is_empty(), expected);
        let others: Vec<String> = (0..conflicts).map(|turn| format!("- other {turn}")).collect();
        assert!(lost(&tape, &others).is_empty());
    }
}

/// Deterministic pseudo-random numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Two writers in any order, one writing between the other's read and write, each interrupted between any two entries,
/// with other entries in between.
#[test]
fn the_section_keeps_every_acknowledged_write() {
    for seed in 0..300 {
        let mut chance = Chance(seed);
        let tape = Tape::default();
        let acknowledged = Rc::new(RefCell::new(Vec::new()));
        for step in 0..12 {
            let writer = tape.writer();
            if chance.below(3) == 0 {
                *writer.cut.borrow_mut() = Some(chance.below(4) as usize);
            }
            if chance.below(3) == 0 {
                let (other, acknowledged) = (tape.writer(), Rc::clone(&acknowledged));
                if chance.below(3) == 0 {
                    *other.cut.borrow_mut() = Some(chance.below(4) as usize);
                }
                writer.before_write.borrow_mut().push(Box::new(move || {
                    let text = format!("- inner {step}");
                    if note(&other, &text).is_ok() {
                        acknowledged.borrow_mut().push(text);
                    }
                }));
            }
            if chance.below(4) == 0 {
                let message = Draft { kind: "message".into(), payload: "{}".into(), meta: "{}".into() };
                tape.append(&[message]);
            }
            let text = format!("- outer {step}");
            if note(&writer, &text).is_ok() {
                acknowledged.borrow_mut().push(text);
            }
            let lost = lost(&tape, &acknowledged.borrow());
            assert!(lost.is_empty(), "seed {seed}, step {step}: {lost:?} are lost");
        }
    }
}
