//! The corpus of the fuzz target in `tests/fuzz`: what once found something, and what reaches far into the reader.

mod input;
mod look;
mod reader;
mod writer;

use std::path::Path;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/tape");

#[tokio::test]
async fn no_file_of_the_corpus_breaks_a_tape() {
    let mut seen = 0;
    for file in std::fs::read_dir(Path::new(CORPUS)).unwrap() {
        let path = file.unwrap().path();
        // Says which file it is when one fails.
        println!("{}", path.display());
        look::look(&std::fs::read(&path).unwrap()).await;
        seen += 1;
    }
    assert!(seen >= 100, "{seen} files");
}
