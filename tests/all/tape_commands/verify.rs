//! `verify`.

use super::{BUBS, home_with, home_with_bubs, json, line, message, tape};
use bub_tests::{Finished, GOLDEN, Home};
use std::fs;

const NAME: &str = "aaaa__bbbb";

fn verify(home: &Home, words: &[&str]) -> Finished {
    home.bub(["tape", "verify"].into_iter().chain(words.iter().copied())).finish()
}

/// The findings for a tape of these lines.
#[track_caller]
fn finds(lines: &[&str], expected: &[(&str, &str)]) {
    let home = home_with(NAME, lines);
    let finished = verify(&home, &[NAME, "--json"]);
    let found = json(&finished)["tapes"][0]["findings"].clone();
    let found: Vec<_> = found.as_array().into_iter().flatten().collect();
    assert_eq!(found.len(), expected.len(), "{finished}");
    for (found, (what, text)) in found.iter().zip(expected) {
        assert_eq!(found["what"], *what, "{finished}");
        assert!(found["text"].as_str().is_some_and(|said| said.contains(text)), "{text}\n{finished}");
        assert!(found["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{finished}");
    }
    assert_eq!(finished.code, Some(if expected.is_empty() { 0 } else { 1 }), "{finished}");
    let said = verify(&home, &[NAME]);
    assert_eq!(said.code, finished.code, "{said}");
    let lines = said.stdout.lines().filter(|line| !line.starts_with("  ")).count();
    assert_eq!(lines, expected.len().max(1), "{said}");
}

#[test]
fn every_recorded_tape_is_well() {
    let mut seen = 0;
    let home = home_with_bubs();
    let cases = fs::read_dir(GOLDEN).expect("the recorded runs").flatten().map(|case| case.path());
    for case in cases.filter(|case| case.is_dir()) {
        for tapes in fs::read_dir(&case).expect("a case").flatten().map(|found| found.path()) {
            let is_tapes = tapes.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tapes_after"));
            for file in fs::read_dir(&tapes).into_iter().flatten().flatten().filter(|_| is_tapes) {
                let to = home.tapes_dir().join(format!("case{seen}__tape.jsonl"));
                fs::copy(file.path(), to).expect("the home can be written");
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen} tapes");
    let finished = verify(&home, &["--all"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(finished.stdout.lines().filter(|line| line.ends_with("all well")).count(), seen + 1, "{finished}");
}

#[test]
fn lines_that_hold_no_entry_are_named_by_their_number() {
    let first = message(1, "user", "hi");
    finds(&[&first, "\n", &message(2, "user", "ho"), "{}\n"], &[("unreadable", "line 2 "), ("unreadable", "line 4 ")]);
    let home = home_with(NAME, &[&first]);
    fs::write(super::tape_file(&home, NAME), [first.as_bytes(), b"\xff\xfe\n"].concat()).expect("it can be written");
    assert!(verify(&home, &[NAME]).stdout.contains("line 2 "), "invalid UTF-8");
}

#[test]
fn a_torn_last_line_is_found_and_a_whole_one_without_its_end_is_well() {
    let (first, second) = (message(1, "user", "hi"), message(2, "user", "ho"));
    finds(&[&first, &second[..30]], &[("torn", "line 2, the last, is incomplete: 30 B")]);
    finds(&[&first, second.trim_end()], &[]);
}

#[test]
fn ids_must_grow() {
    finds(&[&message(1, "user", "a"), &message(3, "user", "b"), &message(4, "user", "c")], &[]);
    finds(
        &[&message(1, "user", "a"), &message(3, "user", "b"), &message(2, "user", "c"), &message(2, "user", "d")],
        &[("order", "entry 2 follows entry 3"), ("order", "entry 2 follows entry 2")],
    );
}

#[test]
fn a_block_that_was_written_twice_is_found() {
    // The same but for their ids.
    let again =
        |id: u64, of: u64| message(of, "user", &format!("said {of}")).replacen(&of.to_string(), &id.to_string(), 1);
    let lines = [again(1, 1), again(2, 2), again(3, 3), again(4, 2), again(5, 3), again(6, 6)];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    finds(&lines, &[("repeated", "entries 4 to 5 repeat those from 2 on")]);
    // One alone may be chance.
    finds(&[&again(1, 1), &again(2, 1), &again(3, 3)], &[]);
    finds(&[&again(1, 1), &again(2, 1), &again(3, 1), &again(4, 1)], &[]);
}

#[test]
fn calls_without_results_are_found_after_the_latest_anchor() {
    let call = line(2, "tool_call", "{\"calls\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}");
    let (first, last) = (message(1, "user", "go"), message(4, "user", "well?"));
    let results = |results: &str| line(3, "tool_result", &format!("{{\"results\": [{results}]}}"));
    finds(&[&first, &call, &results("1, 2"), &last], &[]);
    finds(&[&first, &call, &results("1"), &last], &[("open_calls", "1 call of entry 2")]);
    finds(&[&first, &call, &last], &[("open_calls", "2 calls of entry 2")]);
    finds(&[&first, &call], &[("open_calls", "2 calls of entry 2")]);
    finds(&[&first, &call, &last, &line(5, "anchor", "{\"name\": \"new\"}")], &[]);
    finds(&[&first, &call, &line(5, "anchor", "{\"name\": \"new\"}")], &[]);
}

#[test]
fn torn_lines_and_interrupted_turns_are_reported() {
    let home = home_with(NAME, &[&message(1, "user", "hi")]);
    fs::write(home.tapes_dir().join(format!("{NAME}.jsonl.torn")), "# half\n").expect("it can be written");
    let finished = verify(&home, &[NAME]);
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stdout.contains("7 B of torn lines"), "{finished}");
}

#[test]
fn a_tape_with_a_fault_in_every_line_is_reported_briefly() {
    let lines = "nothing\n".repeat(3000);
    let home = home_with(NAME, &[&lines]);
    let found = json(&verify(&home, &[NAME, "--json"]));
    let findings = found["tapes"][0]["findings"].as_array().cloned().unwrap_or_default();
    assert_eq!(findings.len(), 1001);
    assert_eq!(findings.last().map(|last| last["text"].clone()), Some("2000 more".into()));
    assert_eq!(tape(&home_with_bubs(), ["verify", BUBS]).stdout, format!("{BUBS}: 32 entries, all well\n"));
}
