//! Any sequence of operations, cut off anywhere.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use bub_tape::Durability;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use bub_test_support::tier::in_full;

use super::driver::{Driver, Start};
use super::look::{TORN, copy, look_past_torn};
use super::steps::{NEXT, POINTS, WRITES, expected, holds};
use super::world::{Writing, possible};
use crate::NAME;

/// The same cases each time.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// The possible next operations: those that make sense, chosen by a number.
#[derive(Default)]
struct Author {
    /// Forks of the turn, itself among them; 0: no turn.
    depth: usize,
    /// Whether the turn's resets keep what they put away: what becomes of both kinds in one turn is another matter.
    kept: Option<&'static str>,
    texts: usize,
}

impl Author {
    fn text(&mut self) -> String {
        self.texts += 1;
        format!("t{}", self.texts)
    }

    fn next(&mut self, choice: u8) -> Vec<String> {
        let text = self.text();
        let one = |operation: String| vec![operation];
        let kept = if choice < 170 { "archive" } else { "discard" };
        match (choice % 16, self.depth) {
            (0..4, 0) => {
                (self.depth, self.kept) = (1, None);
                if choice < 128 { one("begin".to_owned()) } else { vec!["begin".to_owned(), format!("prompt {text}")] }
            }
            (0, _) => {
                self.depth += 1;
                one("fork".to_owned())
            }
            (1 | 2, 1) => {
                self.depth = 0;
                vec!["merge".to_owned(), "close".to_owned()]
            }
            (3, 1) => {
                self.depth = 0;
                one("close".to_owned())
            }
            (1..4, _) => {
                self.depth -= 1;
                one(if choice < 160 { "merge" } else { "drop" }.to_owned())
            }
            (4, 1) => one(format!("tool {text}")),
            (5, _) => one(format!("call {text}")),
            (6, _) => one(format!("result {text}")),
            (7, _) => one(format!("handoff {text}")),
            (8 | 9, _) => one(format!("note {text}")),
            (10, _) => one(format!("beside {text}")),
            (11, 0) => one(format!("reset {kept}")),
            (11, _) => one(format!("reset {}", self.kept.get_or_insert(kept))),
            (13, _) => one(format!("say assistant {text} {text}a {text}b")),
            _ => one(format!("say user {text}")),
        }
    }
}

fn script(choices: &[u8]) -> Vec<String> {
    let mut author = Author::default();
    choices.iter().flat_map(|choice| author.next(*choice)).collect()
}

fn choices(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 1..longest)
}

fn driver(dir: &Path) -> Driver {
    Driver::new(dir, Durability::Os, Duration::from_secs(5))
}

fn journal(dir: &Path) -> u64 {
    fs::metadata(dir.join(format!("{NAME}.jsonl.turn"))).map_or(0, |found| found.len())
}

/// Does the operations of one life, and leaves a copy of the directory as a crash in the last of them would: of what that
/// one wrote to the journal there are only the first bytes. All else is cut by processes, below.
async fn live(dir: &Path, next: &Path, choices: &[u8], cut: u16, before: &[Writing]) -> Vec<Writing> {
    let mut driver = driver(dir);
    let mut done = script(choices);
    let last = done.pop().unwrap();
    for operation in &done {
        driver.act(operation).await.unwrap();
    }
    let (old, is_recorded) = (journal(dir), !["merge", "begin", "reset"].contains(&last.split(' ').next().unwrap()));
    driver.act(&last).await.unwrap();
    copy(dir, next);
    let new = journal(next);
    let mut kept = new;
    if is_recorded && new > old {
        kept = old + u64::from(cut) % (new - old + 1);
        OpenOptions::new().write(true).open(next.join(format!("{NAME}.jsonl.turn"))).unwrap().set_len(kept).unwrap();
    }
    let outcome = |before: &Writing| {
        let mut all = possible(before, &done, Some(&last));
        if kept < new { all.swap_remove(0) } else { all.pop().unwrap() }
    };
    before.iter().map(outcome).collect()
}

/// Another program's line, cut off: no writer of this program leaves one.
fn tear(dir: &Path) {
    let tape = OpenOptions::new().append(true).open(dir.join(format!("{NAME}.jsonl")));
    tape.into_iter().for_each(|mut tape| tape.write_all(TORN.as_bytes()).unwrap());
}

#[test]
fn operations_interrupted_between_steps_or_in_the_journal_are_recovered() {
    let lives = proptest::collection::vec((choices(14), any::<u16>(), any::<bool>()), 1..5);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runner(in_full(256, 64)).run(&lives, |lives| {
        let root = tempfile::tempdir().unwrap();
        let dir = |life: usize| root.path().join(life.to_string());
        let mut expected = vec![Writing::default()];
        fs::create_dir(dir(0)).unwrap();
        for (life, (choices, cut, torn)) in lives.iter().enumerate() {
            expected = runtime.block_on(live(&dir(life), &dir(life + 1), choices, *cut, &expected));
            expected.iter_mut().for_each(Writing::end);
            if *torn {
                tear(&dir(life + 1));
            }
        }
        let last = dir(lives.len());
        runtime.block_on(async {
            let mut driver = driver(&last);
            for operation in NEXT.lines() {
                driver.act(operation).await.unwrap();
            }
        });
        NEXT.lines().for_each(|operation| expected[0].apply(operation));
        assert_eq!(look_past_torn(&last), expected[0].world);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn operations_interrupted_at_any_byte_are_recovered() {
    let cuts = (0..POINTS.len() + 4 * WRITES.len(), -40_i16..256, 1..6_u8).prop_map(|(step, bytes, time)| match POINTS
        .get(step)
    {
        Some(point) => format!("{point}#{time}"),
        None => format!("{}@{bytes}#{time}", WRITES[step % WRITES.len()]),
    });
    let lives = proptest::collection::vec((choices(24), cuts), 1..4);
    let outcome = runner(in_full(120, 24)).run(&lives, |lives| {
        let dir = tempfile::tempdir().unwrap();
        let mut left = vec![Writing::default()];
        for (choices, cut) in &lives {
            let script = script(choices).join("\n");
            let ended = Start::new(dir.path(), &script).cut(cut).finish();
            ended.is_cut();
            left = expected(&left, &script, &ended);
            left.iter_mut().for_each(Writing::end);
        }
        let next = Start::new(dir.path(), NEXT).finish();
        assert_eq!(next.failed, None);
        holds(dir.path(), &format!("{lives:?}"), left);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}
