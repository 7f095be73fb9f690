//! Parse, run, print, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    bub_wasm::cli::main()
}
