//! Anything at all as the file of a plugin: what `wasm-smith` makes up, and the programs of the tests with bits
//! flipped, cut off, and put together anew. The loader loads it or says why not, in one line; nothing breaks, and the
//! host serves on.
//!
//! `corpus/loader` holds what was worth keeping. To look for more:
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-wasm --test all -- --exact loader::look_for_more --ignored --nocapture
//! ```

mod input;
mod look;

use bub_test_support::fuzz::Budget;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/loader");

/// Files that a directory of plugins holds at most.
const BATCH: usize = 64;

/// Findings that are kept: files of at most that many bytes, and that many of them.
const WORTH: usize = 20_000;
const KEPT: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_of_the_corpus_breaks_the_loader() {
    let mut inputs = Vec::new();
    for file in fs::read_dir(CORPUS).expect("the corpus is there") {
        inputs.push(fs::read(file.expect("it can be listed").path()).expect("it can be read"));
    }
    assert!(inputs.len() >= 25, "{} files", inputs.len());
    for batch in inputs.chunks(BATCH) {
        look::look(batch).await;
    }
}

/// One input of each kind, so that the makers themselves are run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_modules_do_not_break_the_loader() {
    let inputs: Vec<Vec<u8>> = (0..2 * input::KINDS).map(input::make).collect();
    look::look(&inputs).await;
}

/// Goes on for `BUB_FUZZ_SECONDS`, from `BUB_FUZZ_SEED`. Before each batch its files are put where they can be found
/// after a crash; what led to a new answer is put beside them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs for `BUB_FUZZ_SECONDS`"]
async fn look_for_more() {
    let budget = Budget::from_environment(1);
    let mut seed = budget.first_seed;
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loader");
    let (running, found) = (new_dir(&scratch.join("running")), new_dir(&scratch.join("found")));
    let (mut count, mut loaded, mut answers) = (0, 0, BTreeSet::new());
    while budget.is_left() {
        let batch: Vec<Vec<u8>> = (seed..seed + BATCH as u64).map(input::make).collect();
        for (number, bytes) in batch.iter().enumerate() {
            fs::write(running.join(format!("{number:02}")), bytes).expect("it can be written");
        }
        for (bytes, answer) in batch.iter().zip(look::look(&batch).await) {
            loaded += usize::from(answer.is_none());
            let answer = look::kind(answer.as_deref().unwrap_or("loaded"));
            if answers.insert(answer.clone()) {
                println!("{} bytes: {answer}", bytes.len());
                if bytes.len() <= WORTH && answers.len() <= 10 * KEPT {
                    fs::write(found.join(format!("{seed:08}_{:03}", answers.len())), bytes).expect("it can be written");
                }
            }
        }
        seed += BATCH as u64;
        count += batch.len();
    }
    println!("{count} files, of which {loaded} loaded, and {} different answers; next seed {seed}", answers.len());
}

fn new_dir(dir: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir).expect("the scratch directory can be written");
    dir.to_owned()
}
