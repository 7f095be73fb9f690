//! The conformance tests of all stores, for the plugin that keeps tapes on another machine.

use super::Searching;
use super::place::{Kept, Served};
use bub_store_tests::{Place, conformance};

conformance! { guest paged served }

/// A plugin that keeps tapes on another machine.
fn guest() -> Place {
    let kept = Kept::wait();
    Place::new(move || kept.open())
}

/// The same plugin, and a server that does not know how to look for entries.
fn paged() -> Place {
    let kept = Kept::wait();
    kept.server().searches(Searching::Not);
    Place::new(move || kept.open())
}

/// The same plugin, and `bub-wasm serve` on the other side.
fn served() -> Place {
    let kept = Served::wait();
    let files = kept.files();
    Place::new(move || kept.open()).with_files(files)
}
