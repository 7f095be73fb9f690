//! The index that is kept beside the tapes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bub_tape::{EntryOffset, Index, Lookup, Newest};
use proptest::prelude::*;

use super::made::{Made, Tape};
use super::{Room, short};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_kept_index_that_was_cut_or_changed_is_thrown_away(
        at in any::<proptest::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let room = Room::new(&short(1..=20).bytes);
        room.index().save(&room.kept()).unwrap();
        let good = fs::read(room.kept()).unwrap();
        prop_assert_ne!(room.load(), Index::default());
        let at = at.index(good.len());
        fs::write(room.kept(), &good[..at]).unwrap();
        prop_assert_eq!(room.load(), Index::default());
        let mut changed = good;
        changed[at] ^= change;
        fs::write(room.kept(), changed).unwrap();
        prop_assert_eq!(room.load(), Index::default());
    }
}

#[test]
fn an_index_of_another_tape_or_a_longer_one_is_thrown_away() {
    let tape = short(1..=100);
    let room = Room::new(&tape.bytes);
    let mut index = room.index();
    index.save(&room.kept()).unwrap();
    assert_eq!(room.load().length(), tape.len());
    // A tape that only grew keeps it.
    room.write(&[&tape.bytes[..], b"more"].concat());
    assert_eq!(room.load().length(), tape.len());
    room.write(&tape.bytes[..tape.bytes.len() - 1]);
    assert_eq!(room.load(), Index::default());
    // A kept index that promises more than the caller's end, while the file has it.
    room.write(&tape.bytes);
    assert_eq!(Index::load(&room.kept(), &room.file(), tape.len() - 1), Index::default());
    for at in [10, tape.bytes.len() - 10] {
        let mut other = tape.bytes.clone();
        other[at] ^= 1;
        room.write(&other);
        assert_eq!(room.load(), Index::default(), "a byte differs at {at}");
    }
    room.write(b"");
    assert_eq!(room.load(), Index::default());
}

#[test]
fn a_position_that_the_file_contradicts_is_not_used() {
    let tape = short(1..=9);
    let room = Room::new(&tape.bytes);
    room.index().save(&room.kept()).unwrap();
    let text = fs::read_to_string(room.kept()).unwrap();
    let (_, kept) = text.trim_end().split_once('\n').unwrap();
    let (place, _) = tape.scan(&Lookup::event("e5")).unwrap();
    let good = format!(r#"{{"id":{},"offset":{}}}"#, place.id, place.offset);
    assert!(kept.contains(&good));
    let EntryOffset { id, offset } = *place;
    let others = [(id, offset + 1), (id + 1, offset), (id + 1, tape.ends[4]), (id, u64::MAX), (u64::MAX, 0)];
    assert_eq!(tape.entries[5].0, EntryOffset { id: id + 1, offset: tape.ends[4] });
    for (id, offset) in others {
        let forged = kept.replace(&good, &format!(r#"{{"id":{id},"offset":{offset}}}"#));
        let sum = crc32fast::hash(forged.as_bytes());
        fs::write(room.kept(), format!("bub-wasm index 5 {sum:08x}\n{forged}\n")).unwrap();
        let index = room.load();
        assert_eq!(index.length(), tape.len(), "the checksum is right, so it is read");
        assert_eq!(index.newest(&room.file(), &Lookup::event("e5"), None).unwrap(), Newest::Unknown);
        assert!(matches!(index.newest(&room.file(), &Lookup::event("e4"), None).unwrap(), Newest::Known(_)));
    }
}

#[test]
fn counts_that_a_file_made_up_do_not_run_over() {
    let room = Room::new(&short(1..=9).bytes);
    room.index().save(&room.kept()).unwrap();
    let text = fs::read_to_string(room.kept()).unwrap();
    let (_, kept) = text.trim_end().split_once('\n').unwrap();
    let forged = kept.replace(r#""entries":10"#, &format!(r#""entries":{}"#, u64::MAX));
    assert_ne!(kept, forged);
    let sum = crc32fast::hash(forged.as_bytes());
    fs::write(room.kept(), format!("bub-wasm index 5 {sum:08x}\n{forged}\n")).unwrap();
    let mut index = room.load();
    let grown = short(1..=9).bytes.repeat(2);
    room.write(&grown);
    index.catch_up(&room.file(), room.length()).unwrap();
    assert_eq!(index.summary().info("T").entries, u64::MAX);
}

#[test]
fn a_saved_index_stays_small_with_any_names() {
    let mut lines = Vec::new();
    for number in 0..1500 {
        let name = format!("{number:\u{1}>128}");
        lines.push(Made::Anchor { name: Some(name.clone()), zone: false });
        lines.push(Made::Event { name: name.clone(), usage: None });
        lines.push(Made::Plain { kind: name });
    }
    lines.push(Made::Anchor { name: Some("ä".repeat(100_000)), zone: false });
    let tape = Tape::of(&lines);
    let room = Room::new(&tape.bytes);
    let mut index = room.index();
    index.save(&room.kept()).unwrap();
    assert!(fs::metadata(room.kept()).unwrap().len() < 1 << 20);
    assert_eq!(room.load(), index);
    let told = index.summary().info("T").last_anchor.unwrap();
    assert_eq!(told, "ä".repeat(512));
}

#[test]
fn the_kept_file_is_its_owners_alone() {
    let room = Room::new(&short(1..=3).bytes);
    let mut index = room.index();
    index.save(&room.kept()).unwrap();
    index.save(&room.kept()).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&room.kept()), 0o600);
    assert_eq!(mode(room.kept().parent().unwrap()), 0o700);
    assert_eq!(fs::read_dir(room.kept().parent().unwrap()).unwrap().count(), 1, "no draft is left");
}

#[test]
fn a_failed_save_leaves_no_file() {
    let room = Room::new(&short(1..=3).bytes);
    fs::create_dir_all(room.kept()).unwrap();
    let mut index = room.index();
    index.save(&room.kept()).unwrap_err();
    assert_eq!(fs::read_dir(room.kept().parent().unwrap()).unwrap().count(), 1, "no draft is left");
    assert_eq!(room.load(), Index::default());
}

#[test]
fn saving_is_worth_it_after_256_kib() {
    let tape = short(1..=8000);
    let room = Room::new(&tape.bytes);
    let at = |end: &u64| *end > 256 * 1024;
    let border = tape.ends.iter().position(at).unwrap();
    let mut index = Index::default();
    index.catch_up(&room.file(), tape.ends[border - 1]).unwrap();
    assert!(!index.is_worth_saving());
    index.catch_up(&room.file(), tape.ends[border]).unwrap();
    assert!(index.is_worth_saving());
    index.save(&room.kept()).unwrap();
    assert!(!index.is_worth_saving());
    let mut loaded = room.load();
    assert!(!loaded.is_worth_saving());
    loaded.catch_up(&room.file(), tape.len()).unwrap();
    assert!(loaded.is_worth_saving());
}
