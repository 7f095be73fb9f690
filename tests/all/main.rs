//! The tests of the whole program, in one binary. Each starts the program as a person does; the model is a server on
//! loopback that says what the test gives it to say.

mod bad_input;
mod cancellation;
mod conformance;
mod differences;
mod faults;
mod hooks;
mod layers;
mod model;
mod plugins;
mod programs;
mod net;
mod process;
mod secret;
mod tape;

use bub_tests::Home;

/// A new home for the program of this build.
fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"))
}
