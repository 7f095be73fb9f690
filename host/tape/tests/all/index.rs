//! The index of a tape's file.

mod kept;
mod made;

use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bub_tape::{Index, Lookup, Newest};
use proptest::prelude::*;

use made::{Made, NAMES, Tape, any_tape};

/// A tape's file and a place for its index, removed at the end of the test.
struct Room {
    dir: tempfile::TempDir,
}

impl Room {
    fn new(bytes: &[u8]) -> Self {
        let room = Self { dir: tempfile::tempdir().unwrap() };
        room.write(bytes);
        room
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("tape")
    }

    fn kept(&self) -> PathBuf {
        self.dir.path().join("cache/index/tape.index")
    }

    fn write(&self, bytes: &[u8]) {
        fs::write(self.path(), bytes).unwrap();
    }

    fn file(&self) -> File {
        File::open(self.path()).unwrap()
    }

    fn length(&self) -> u64 {
        self.file().metadata().unwrap().len()
    }

    fn index(&self) -> Index {
        let mut index = Index::default();
        index.catch_up(&self.file(), self.length()).unwrap();
        index
    }

    fn load(&self) -> Index {
        Index::load(&self.kept(), &self.file(), self.length())
    }
}

/// A tape of so many messages, and an anchor.
fn short(count: RangeInclusive<usize>) -> Tape {
    let mut lines: Vec<Made> = count.map(|number| Made::Event { name: format!("e{number}"), usage: None }).collect();
    lines.push(Made::Anchor { name: Some("phase".to_owned()), zone: false });
    Tape::of(&lines)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_of_a_digest_is_that_of_a_scan(lines in any_tape()) {
        let tape = Tape::of(&lines);
        let room = Room::new(&tape.bytes);
        let index = room.index();
        tape.check(index.summary());
        prop_assert_eq!(index.length(), tape.len());
        prop_assert_eq!(index.last_id(), tape.entries.last().map_or(0, |(place, _)| place.id));
        let file = room.file();
        let may_be_unknown = tape.may_be_unknown();
        for lookup in tape.lookup() {
            let scanned = tape.scan(&lookup);
            match index.newest(&file, &lookup, None).unwrap() {
                Newest::Known(entry) => prop_assert_eq!(Some(&entry), scanned.map(|(_, entry)| entry)),
                Newest::Nothing => prop_assert_eq!(None, scanned),
                Newest::Unknown => prop_assert!(may_be_unknown(&lookup)),
            }
            if let Some((place, _)) = scanned {
                let older = index.newest(&file, &lookup, Some(place.id)).unwrap();
                prop_assert_eq!(older, Newest::Unknown, "one stands behind, so the summary does not tell");
            }
        }
    }

    #[test]
    fn catching_up_in_portions_is_one_pass(
        lines in any_tape(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
        save in any::<bool>(),
    ) {
        let tape = Tape::of(&lines);
        let room = Room::new(&tape.bytes);
        let mut cuts: Vec<u64> = cuts.iter().map(|cut| cut.index(tape.bytes.len() + 1) as u64).collect();
        cuts.push(tape.len());
        cuts.sort_unstable();
        let mut index = Index::default();
        for cut in cuts {
            index.catch_up(&room.file(), cut).unwrap();
            let whole_lines = tape.ends.iter().rev().find(|end| **end <= cut);
            prop_assert_eq!(index.length(), whole_lines.copied().unwrap_or(0));
            if save {
                index.save(&room.kept()).unwrap();
                let loaded = Index::load(&room.kept(), &room.file(), cut);
                prop_assert_eq!(&loaded, &index);
                index = loaded;
            }
        }
        tape.check(index.summary());
        prop_assert_eq!(index.summary().clone(), room.index().summary().clone());
    }
}

#[test]
fn a_last_line_without_its_newline_waits_but_counts_as_a_whole() {
    let tape = short(1..=3);
    let whole = tape.bytes.len() - 1;
    let room = Room::new(&tape.bytes[..whole]);
    let index = room.index();
    assert_eq!((index.length(), index.last_id()), (tape.ends[2], 3));
    assert_eq!(index.summary().newest(&Lookup::Phase), Newest::Nothing);
    tape.check(&index.whole(&room.file(), room.length()).unwrap());
    // The same line, cut off in its middle.
    room.write(&tape.bytes[..whole - 5]);
    let torn = index.whole(&room.file(), room.length()).unwrap().info("T");
    assert_eq!((torn.entries, torn.unreadable), (3, 1));
    assert_eq!(index.summary().info("T").unreadable, 0);
}

#[test]
fn bytes_after_the_given_end_are_ignored() {
    let tape = short(1..=3);
    let room = Room::new(&tape.bytes);
    let mut index = Index::default();
    index.catch_up(&room.file(), tape.ends[1]).unwrap();
    assert_eq!((index.length(), index.last_id()), (tape.ends[1], 2));
    assert_eq!(index.whole(&room.file(), tape.ends[1]).unwrap().info("T").entries, 2);
    assert_eq!(index.newest(&room.file(), &Lookup::event("e3"), None).unwrap(), Newest::Nothing);
}

#[test]
fn a_tape_that_was_reset_and_grew_again_is_indexed_again() {
    let room = Room::new(&short(1..=100).bytes);
    let mut index = room.index();
    index.save(&room.kept()).unwrap();
    let regrown = short(500..=700);
    room.write(&regrown.bytes);
    assert_eq!(room.load(), Index::default());
    index.catch_up(&room.file(), room.length()).unwrap();
    assert_eq!(index.length(), regrown.len());
    regrown.check(index.summary());
    // And one that did not grow as long as it was.
    let shorter = short(3..=4);
    room.write(&shorter.bytes);
    index.catch_up(&room.file(), room.length()).unwrap();
    shorter.check(index.summary());
}

#[test]
fn the_newest_names_are_known_however_many_there_were() {
    let mut lines = vec![Made::Event { name: "first".to_owned(), usage: None }];
    lines.push(Made::Anchor { name: Some("phase".to_owned()), zone: false });
    lines.push(Made::Flood { anchors: false, from: 0, count: 5000 });
    let tape = Tape::of(&lines);
    let summary = Room::new(&tape.bytes).index().summary().clone();
    tape.check(&summary);
    for (place, entry) in tape.entries.iter().rev().take(NAMES / 2 - 1) {
        let lookup = Lookup::event(&entry.name().unwrap());
        assert_eq!(summary.newest(&lookup), Newest::Known(*place), "{lookup:?}");
    }
    assert_eq!(summary.newest(&Lookup::event("first")), Newest::Unknown);
    assert_eq!(summary.newest(&Lookup::event("never")), Newest::Unknown);
    // Events push out no anchors.
    assert!(matches!(summary.newest(&Lookup::anchor("phase")), Newest::Known(_)));
    assert_eq!(summary.newest(&Lookup::anchor("never")), Newest::Nothing);
}

#[test]
fn a_line_that_is_too_long_costs_that_line() {
    const LONGEST: u64 = 64 * 1024 * 1024;
    let one = short(1..=1);
    let room = Room::new(&one.bytes);
    let file = File::options().read(true).write(true).open(room.path()).unwrap();
    // It ends with what looks like an entry. The zeros before that take no space on a disk.
    let behind = one.len() + LONGEST + 100;
    file.write_all_at(&one.bytes, behind).unwrap();
    let mut index = Index::default();
    index.catch_up(&file, behind).unwrap();
    assert_eq!((index.length(), index.last_id()), (one.len(), 2));
    index.catch_up(&file, room.length()).unwrap();
    assert_eq!(index.length(), room.length());
    let info = index.summary().info("T");
    assert_eq!((info.entries, info.unreadable), (3, 1));
}
