//! Fixtures for the tests of any crate.
//!
//! The crate depends on no crate of `host/`, so a test that uses it builds neither wasmtime nor guests. Fixtures that start
//! the program are in `bub-tests`.

pub mod anthropic;
mod chance;
pub mod docker_registry;
pub mod fuzz;
pub mod golden;
pub mod postgres;
pub mod round_trips;
pub mod spellings;
pub mod tier;

pub use chance::Chance;
