//! The program `bub-wasm`: an agent runtime in which every stage of a turn is a hook, every implementation of a hook is a
//! sandboxed WebAssembly component, and every fact is an entry on an append-only tape.
//!
//! This crate is the command line; the crates below it implement the program.

#![warn(missing_docs, unreachable_pub)]

pub mod cli;
