//! Many writers of one tape.

use std::collections::BTreeMap;

use bub_test_support::tier::in_full;

use super::crash::driver::{Ended, Start, ended};
use super::crash::look::look;

/// How often each process repeats its script.
fn rounds() -> u32 {
    in_full(100, 10)
}

/// How many entries each process writes in one round, four of them in a turn.
const ENTRIES: usize = 100;

fn script(process: &str) -> String {
    let mut script: String = (4..ENTRIES).map(|number| format!("beside {process}%.{number}\n")).collect();
    script += &format!("begin\nsay user {process}%.0\nsay assistant {process}%.1 {process}%.2\n");
    script += &format!("fork\nsay user {process}%.3\nmerge\nmerge\nclose\nreset archive");
    script
}

fn at_the_same_time(starts: &[Start]) -> Vec<Ended> {
    let children: Vec<_> = starts.iter().map(Start::start).collect();
    std::thread::scope(|scope| {
        let waiting: Vec<_> = children.into_iter().map(|child| scope.spawn(|| ended(child))).collect();
        waiting.into_iter().map(|waiting| waiting.join().unwrap()).collect()
    })
}

#[test]
fn two_processes_write_thousands_of_entries_with_turns_and_resets_between() {
    let dir = tempfile::tempdir().unwrap();
    let scripts = ["a", "b"].map(script);
    let starts = scripts.each_ref().map(|script| Start { rounds: rounds(), ..Start::new(dir.path(), script) });
    for ended in at_the_same_time(&starts) {
        assert!(ended.failed.is_none() && ended.status.success(), "{:?}\n{}", ended.failed, ended.stderr);
    }
    let found = look(dir.path());
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for token in found.tape.iter().chain(&found.away) {
        let text = token.split_once(':').unwrap().1;
        *times.entry(text).or_default() += 1;
    }
    for process in ["a", "b"] {
        for round in 0..rounds() {
            for number in 0..ENTRIES {
                let text = format!("{process}{round}.{number}");
                assert_eq!(times.remove(text.as_str()), Some(1), "how often {text} is there");
            }
        }
    }
    assert!(times.is_empty(), "no process has written {times:?}");
}
