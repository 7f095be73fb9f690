use bub_tape::Search;

use super::super::Room;
use super::{found, ids, line, search};

#[test]
fn a_line_that_cannot_be_read_costs_only_itself() {
    let invalid: &[u8] =
        b"{\"id\": 2, \"kind\": \"event\", \"payload\": {\"content\": \"needle \xff\"}, \"meta\": {}, \"date\": \"D\"}";
    let (first, last) = (line(1, "needle 1"), line(3, "needle 3"));
    let tape: [&[u8]; 7] =
        [first.as_bytes(), invalid, b"", b"needle", b"{\"needle\": 1}", b"\xff\xfe", last.as_bytes()];
    assert_eq!(ids(&found(&tape, &search("needle"))), [3, 1]);
    assert_eq!(ids(&found(&tape, &search("neelde"))), [3, 1]);
}

#[tokio::test]
async fn a_whole_last_line_without_its_newline_counts_and_a_torn_one_does_not() {
    let room = Room::new();
    room.write([line(1, "needle 1"), line(2, "needle 2")].join("\n"));
    assert_eq!(ids(&room.tape().search(&search("needle")).await.unwrap()), [2, 1]);
    let torn = line(3, "needle 3");
    room.write([line(1, "needle 1"), torn[..torn.len() - 1].to_owned()].join("\n"));
    assert_eq!(ids(&room.tape().search(&search("needle")).await.unwrap()), [1]);
}

#[tokio::test]
async fn an_empty_tape_and_one_that_is_not_there_hold_nothing() {
    let room = Room::new();
    assert_eq!(room.tape().search(&search("anything")).await.unwrap(), []);
    room.write("");
    assert_eq!(room.tape().search(&search("anything")).await.unwrap(), []);
    room.write("\n\n");
    assert_eq!(room.tape().search(&search("anything")).await.unwrap(), []);
}

/// As much as is read at once; lines are laid around multiples of it.
const BLOCK: usize = 1024 * 1024;

#[test]
fn lines_over_the_border_of_a_block_are_whole() {
    let end = line(9, "end of the tape");
    let needle = line(2, "needle");
    let filler = |id, length: usize| line(id, &"-".repeat(length));
    // The border of the last block lies at the line's end, at its beginning, and at places between.
    let around = end.len() + filler(3, 0).len() + 3;
    for (before, places) in [(0, 7), (BLOCK, 2)] {
        for place in (0..=needle.len() + 2).step_by(needle.len() / places) {
            let tape = [filler(1, before), needle.clone(), filler(3, BLOCK - around - place), end.clone()];
            assert_eq!(ids(&found(&tape, &search("needle"))), [2], "{place}");
        }
    }
    let long =
        format!("{} needle {} pin {}", "-".repeat(BLOCK + BLOCK / 4), "-".repeat(BLOCK / 2), "-".repeat(BLOCK / 2));
    let tape = [line(1, "needle pin"), line(2, &long), line(3, "needle pin!")];
    assert_eq!(ids(&found(&tape, &search("needle pin"))), [3, 2, 1]);
    assert_eq!(ids(&found(&tape[..2], &search("neelde pin"))), [2, 1]);
}

#[test]
fn every_line_of_a_long_tape_is_looked_at_once() {
    let tape: Vec<String> =
        (1..6_000).map(|id| line(id, &format!("{id} {}", "word ".repeat(id as usize % 67)))).collect();
    let all: Vec<u64> = (1..6_000).rev().collect();
    assert_eq!(ids(&found(&tape, &Search { limit: usize::MAX, ..search("content") })), all);
    let wordy: Vec<u64> = all.iter().copied().filter(|id| id % 67 > 0).collect();
    assert_eq!(ids(&found(&tape, &Search { limit: usize::MAX, ..search("wrod") })), wordy);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_left_out_though_it_begins_like_an_entry() {
    let room = Room::new();
    let begin = format!("{}\n{}", line(1, "needle 1"), line(2, "needle 2"));
    let end = format!("\n{}\n", line(3, "needle 3"));
    room.write(&begin);
    let file = std::fs::OpenOptions::new().write(true).open(room.path()).unwrap();
    // A hole, whose end lies whole blocks behind the beginning of the line.
    let at = begin.len() + 66 * BLOCK - end.len();
    std::os::unix::fs::FileExt::write_all_at(&file, end.as_bytes(), at as u64).unwrap();
    assert_eq!(ids(&room.tape().search(&search("needle")).await.unwrap()), [3, 1]);
    assert_eq!(ids(&room.tape().search(&search("neelde")).await.unwrap()), [3, 1]);
}
