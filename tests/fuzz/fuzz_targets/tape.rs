//! Arbitrary bytes as the files of a tape. `tests/README.md` says how it is run.

#![no_main]

#[path = "../../../host/tape/tests/all/fuzz/input.rs"]
mod input;
#[path = "../../../host/tape/tests/all/fuzz/look.rs"]
mod look;
#[path = "../../../host/tape/tests/all/fuzz/reader.rs"]
mod reader;
#[path = "../../../host/tape/tests/all/fuzz/writer.rs"]
mod writer;

use std::sync::LazyLock;

/// One for all inputs: a runtime for each would cost more than the input.
static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be made")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| RUNTIME.block_on(look::look(bytes)));
