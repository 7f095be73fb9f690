//! Arbitrary bytes as the files of a tape. `tests/README.md` says how it is run.

#![no_main]

#[path = "../../all/tape/fuzz/input.rs"]
mod input;
#[path = "../../all/tape/fuzz/look.rs"]
mod look;
#[path = "../../all/tape/fuzz/reader.rs"]
mod reader;
#[path = "../../all/tape/fuzz/writer.rs"]
mod writer;

use std::sync::LazyLock;

/// One for all inputs: a runtime for each would cost more than the input.
static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be made")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| RUNTIME.block_on(look::look(bytes)));
