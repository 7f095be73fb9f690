//! Leases: a model of workers that share a database, under random schedules, and the real ones.
//!
//! The workers of the model decide by [`Held`](bub_postgres::Held), as the real ones do. `BUB_SCHEDULES` sets the number of
//! schedules of each test. As many as fit into a time, and how many that were:
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test --release -p bub-postgres --test all -- --exact leases::look_for_more --ignored --nocapture
//! ```

mod judge;
mod real;
mod rules;
mod worker;
mod world;

use bub_test_support::fuzz::Budget;
use rules::{Mode, Rule};
use world::run;

/// In each mode. Each omitted rule shows within these.
const SCHEDULES: u64 = 20_000;

fn schedules() -> u64 {
    std::env::var("BUB_SCHEDULES").ok().and_then(|number| number.parse().ok()).unwrap_or(SCHEDULES)
}

fn failure(mode: Mode, left_out: &[Rule]) -> Option<(u64, &'static str)> {
    (0..schedules()).find_map(|seed| Some((seed, run(seed, mode, left_out).err()?)))
}

/// Runs schedules of all modes on each core until the time is over.
#[test]
#[ignore = "as long as BUB_FUZZ_SECONDS says"]
fn look_for_more() {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let budget = Budget::from_environment(1 << 32);
    let ran = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for core in 0..cores {
            let (budget, ran) = (&budget, &ran);
            scope.spawn(move || {
                for seed in (budget.first_seed + core..).step_by(cores as usize) {
                    if !budget.is_left() {
                        return;
                    }
                    for mode in [Mode::Faults, Mode::Failover] {
                        assert_eq!(run(seed, mode, &[]), Ok(()), "BUB_FUZZ_SEED={seed}, {mode:?}");
                        ran.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
    });
    eprintln!("{} schedules without a violation", ran.into_inner());
}

#[test]
fn each_message_has_one_turn_and_no_stale_owner_writes_under_any_fault() {
    assert_eq!(failure(Mode::Faults, &[]), None);
}

#[test]
fn a_database_that_loses_its_last_transactions_takes_no_write_of_a_lost_claim() {
    assert_eq!(failure(Mode::Failover, &[]), None);
}

#[test]
fn the_model_detects_each_omitted_rule() {
    for (mode, rules) in Rule::CONTROLS {
        assert!(failure(mode, rules).is_some(), "without {rules:?} nothing fails");
        eprintln!("without {rules:?}: {:?}", failure(mode, rules));
    }
}
