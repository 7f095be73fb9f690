//! The program `bub-wasm`: an agent runtime in which every stage of a turn is a hook, every implementation of a hook is a
//! sandboxed WebAssembly component, and every fact is an entry on an append-only tape.
//!
//! This crate is the command line; what the program does is done by the crates below it.

pub mod cli;
