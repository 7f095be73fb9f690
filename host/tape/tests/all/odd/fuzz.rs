//! Tapes that are made up, each within a limit in time.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{look, made};
use bub_test_support::Chance;
use bub_test_support::fuzz::Budget;
use bub_test_support::tier::in_full;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/ids");

/// How long one tape may take, on a machine that does much else. It takes milliseconds; a reader that makes no progress
/// takes for ever.
const LIMIT: Duration = Duration::from_secs(180);

/// How many tapes a plain run looks at.
const SAMPLE: u64 = 48;

/// Looks at a tape on a thread of its own, which is left behind where it does not end.
fn within_the_limit(name: &str, bytes: Vec<u8>, seed: u64) {
    let (done, end) = mpsc::channel();
    let looking = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(look::look(&bytes, seed));
        let _ = done.send(());
    });
    match end.recv_timeout(LIMIT) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{name}: a reader makes no progress"),
        _ => assert!(looking.join().is_ok(), "{name}"),
    }
}

fn of_seed(seed: u64) {
    within_the_limit(&format!("seed {seed}"), made::tape(&mut Chance::new(seed)), seed);
}

#[test]
fn no_file_of_the_corpus_keeps_a_reader_for_ever() {
    let mut seen = 0;
    for file in fs::read_dir(CORPUS).unwrap() {
        let path = file.unwrap().path();
        within_the_limit(&path.display().to_string(), fs::read(&path).unwrap(), 1);
        seen += 1;
    }
    assert!(seen >= 6, "{seen} files");
}

#[test]
fn tapes_with_any_ids_can_be_read_and_appended_to() {
    (1..=in_full(SAMPLE, SAMPLE / 4)).for_each(of_seed);
}

/// Goes on for `BUB_FUZZ_SECONDS`, from `BUB_FUZZ_SEED`. The tape that is looked at lies in `target/tmp/ids`.
#[test]
#[ignore = "runs for `BUB_FUZZ_SECONDS`"]
fn look_for_more() {
    let budget = Budget::from_environment(SAMPLE + 1);
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ids");
    fs::create_dir_all(&scratch).expect("the scratch directory can be written");
    let mut seed = budget.first_seed;
    while budget.is_left() {
        fs::write(scratch.join("running"), made::tape(&mut Chance::new(seed))).expect("it can be written");
        of_seed(seed);
        seed += 1;
    }
    println!("{} tapes; next seed {seed}", seed - budget.first_seed);
}
