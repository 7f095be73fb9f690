//! Processes that run turns of one session, one after another, and are killed at any moment.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use super::driver::{Ended, Start, ended};
use super::look::{is_settled, look};
use super::steps::{NEXT, in_two_threads};
use super::world::{Token, World, Writing, possible};

const KILLS: u64 = 200;

/// How many of them happen to one tape.
const IN_ONE: u64 = 20;

/// `@` is the process, `%` the round. Every text and every call's id begins with both, and ends with what it is.
const TURNS: &str = "\
begin
prompt @%.user
say user @%.user
call @%.call @%.other
tool @%.call
tool @%.other
note @%.note
result done done
fork
say assistant @%.forked
merge
call @%.last
tool @%.last
result done
say assistant @%.end @%.more
merge
close
pause";

/// Numbers that look like chance, the same for the same seed (splitmix64).
pub(crate) fn chance(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The turns of a killed process: what each may have left, by its name.
fn turns(script: &str, ended: &Ended, all: &mut BTreeMap<String, Vec<World>>) {
    let operations: Vec<&str> = script.lines().collect();
    let rounds = ended.done.len().div_ceil(operations.len()).max(1);
    for round in 0..rounds {
        let number = round.to_string();
        let done = ended.done.iter().skip(round * operations.len()).take(operations.len()).cloned();
        let done: Vec<String> = done.collect();
        let begun = operations.get(done.len()).map(|operation| operation.replace('%', &number));
        let mut outcomes = possible(&Writing::default(), &done, begun.as_deref());
        outcomes.iter_mut().for_each(Writing::recover);
        let name = operations[1].trim_start_matches("prompt ").trim_end_matches(".user").replace('%', &number);
        all.insert(name, outcomes.into_iter().map(|outcome| outcome.world).collect());
    }
}

/// Which turn an entry belongs to; none where it does not say, and then it belongs to the one in front.
fn owner(token: &Token) -> Option<&str> {
    token.split_once(':')?.1.split_once('.').map(|(name, _)| name).filter(|name| *name != "turn")
}

#[track_caller]
fn check(seed: u64, found: World, mut all: BTreeMap<String, Vec<World>>) {
    let mut groups: Vec<(String, World)> = Vec::new();
    for token in found.tape {
        let name = owner(&token).map(str::to_owned).unwrap_or_else(|| groups.last().unwrap().0.clone());
        if groups.last().is_none_or(|(last, _)| *last != name) {
            let torn = groups.iter().any(|(other, _)| *other == name);
            assert!(!torn, "seed {seed}: the entries of turn {name} do not stand together");
            groups.push((name, World::default()));
        }
        groups.last_mut().unwrap().1.tape.push(token);
    }
    let mut groups: BTreeMap<String, World> = groups.into_iter().collect();
    for token in found.notes {
        let name = owner(&token).unwrap();
        groups.get_mut(name).unwrap_or_else(|| panic!("seed {seed}: {token} has no turn")).notes.push(token);
    }
    for (name, outcomes) in &mut all {
        let found = groups.remove(name).unwrap_or_default();
        assert!(outcomes.contains(&found), "seed {seed}: turn {name} left {found}where may be {outcomes:#?}");
    }
    assert!(groups.is_empty(), "seed {seed}: no turn has written {groups:?}");
}

/// Two processes take turns, and are killed one after the other.
fn kill_often(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut state = seed;
    let mut all = BTreeMap::new();
    for kill in 0..IN_ONE / 2 {
        let scripts = ["a", "b"].map(|process| TURNS.replace('@', &format!("{process}{kill}x")));
        let started = [0, 1].map(|process| {
            let mut child = Start { rounds: 1_000_000, ..Start::new(dir.path(), &scripts[process]) }.start();
            if process == 0 {
                sleep(Duration::from_micros(chance(&mut state) % 10_000));
            }
            // A process that has not begun its first turn is of no interest.
            super::driver::wait_for_first(&mut child);
            child
        });
        for (script, mut child) in scripts.iter().zip(started) {
            sleep(Duration::from_micros(chance(&mut state) % 20_000));
            child.kill().unwrap();
            let ended = ended(child);
            assert_eq!(ended.failed, None, "seed {seed}");
            turns(script, &ended, &mut all);
        }
    }
    let next = NEXT.replace("next", "next.user");
    let next = Start::new(dir.path(), &next).finish();
    assert!(next.failed.is_none() && next.done.len() == 4, "seed {seed}: {next:?}");
    let last = World { tape: vec!["user:next.user".to_owned()], ..World::default() };
    all.insert("next".to_owned(), vec![last]);
    check(seed, look(dir.path()), all);
    is_settled(dir.path());
}

#[test]
fn processes_that_are_killed_at_any_moment_lose_and_double_nothing() {
    in_two_threads((0..KILLS / IN_ONE).collect(), kill_often);
}
