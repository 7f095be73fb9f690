//! The corpus of the fuzz target in `tests/fuzz`: what once found something, and what reaches far into the reader.

mod input;
mod look;
mod reader;
mod writer;

use bub_test_support::tier::in_full;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/tape");

#[tokio::test]
async fn no_file_of_the_corpus_breaks_a_tape() {
    let mut seen = 0;
    let mut files: Vec<_> = std::fs::read_dir(CORPUS).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for path in files.iter().step_by(in_full(1, 4)) {
        // Says which file it is when one fails.
        println!("{}", path.display());
        look::look(&std::fs::read(path).unwrap()).await;
        seen += 1;
    }
    assert!(seen >= in_full(100, 25), "{seen} files");
}
