//! Random histories of writes, compared with plain lists.

use std::cell::Cell;

use bub_tape::{Draft, Error, Outcome};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::model::{Model, assert_same, drafts};
use crate::{Place, batch, keyed};

#[derive(Clone, Debug)]
enum Step {
    /// To one of three tapes.
    Append(usize, Vec<Draft>),
    /// To the first tape and its sidecar, as one write that is tried twice.
    Twice(Vec<Draft>, Vec<Draft>),
    Conflict(usize),
    Reset(usize, bool),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_usize, drafts(8)).prop_map(|(tape, drafts)| Step::Append(tape, drafts)),
        // More than one page, and more than an index may wait for.
        1 => (0..2_usize, drafts(300)).prop_map(|(tape, drafts)| Step::Append(tape, drafts)),
        3 => (drafts(4), drafts(4)).prop_map(|(own, beside)| Step::Twice(own, beside)),
        1 => (0..3_usize).prop_map(Step::Conflict),
        1 => (0..3_usize, any::<bool>()).prop_map(|(tape, archive)| Step::Reset(tape, archive)),
        1 => Just(Step::Reopen),
    ]
}

pub async fn any_history_is_read_as_it_was_written(place: &Place) {
    let histories = Cell::new(0);
    check(24, prop::collection::vec(step(), 1..12), async |steps: Vec<Step>| {
        let history = histories.replace(histories.get() + 1);
        let main = format!("h{history}__a");
        let tapes = [main.clone(), format!("{main}__sidecar__s"), format!("h{history}__b")];
        let mut model = Model::default();
        let mut store = place.open();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Append(tape, drafts) => {
                    let first = store.append(&tapes[tape], drafts.clone(), None).await.unwrap();
                    assert_eq!(first, model.of(&tapes[tape]).len() as u64 + 1);
                    model.append(&tapes[tape], &drafts);
                }
                Step::Twice(own, beside) => {
                    let batches = vec![batch(&tapes[1], beside.clone()), batch(&tapes[0], own.clone())];
                    let commit = keyed(&number.to_string(), batches);
                    assert!(matches!(store.commit(commit.clone()).await.unwrap(), Outcome::Stored(_)));
                    assert_eq!(store.commit(commit).await.unwrap(), Outcome::Already);
                    model.append(&tapes[1], &beside);
                    model.append(&tapes[0], &own);
                }
                Step::Conflict(tape) => {
                    let last = model.of(&tapes[tape]).len() as u64;
                    let refused = store.append(&tapes[tape], Vec::new(), Some(last + 1)).await;
                    assert!(matches!(refused, Err(Error::Conflict { last: found }) if found == last));
                }
                Step::Reset(tape, archive) => {
                    let before = model.of(&tapes[tape]).to_vec();
                    let name = store.reset(&tapes[tape], archive).await.unwrap();
                    assert_eq!(name.is_some(), archive && !before.is_empty());
                    if let Some(name) = name {
                        assert_eq!(place.archived(&name).await, before);
                    }
                    model.reset(&tapes[tape]);
                }
                Step::Reopen => store = place.open(),
            }
        }
        for tape in &tapes {
            assert_same(&*store, tape, model.of(tape)).await;
        }
        let beside = model.0.contains_key(&tapes[1]).then(|| tapes[1].clone());
        assert_eq!(store.sidecars(&main).await.unwrap(), beside.into_iter().collect::<Vec<_>>());
        let mut listed = store.list(None, usize::MAX).await.unwrap();
        listed.retain(|name| name.starts_with(&format!("h{history}__")));
        let expected: Vec<&String> = model.0.keys().filter(|name| !name.contains("sidecar")).collect();
        assert_eq!(listed.iter().collect::<Vec<_>>(), expected);
    });
}

/// Tries a test with random values.
pub fn check<S: Strategy>(cases: u32, strategy: S, test: impl AsyncFn(S::Value)) {
    // Of what fails, the smallest case is shown; it is not written to a file.
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let ran = TestRunner::new(config).run(&strategy, |value| {
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(test(value)));
        Ok(())
    });
    if let Err(failed) = ran {
        panic!("{failed}");
    }
}
