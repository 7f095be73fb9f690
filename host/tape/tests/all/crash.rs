//! Processes that end anywhere: acknowledged entries are on the tape, once, and the next turn runs.

mod chance;
pub(super) mod driver;
mod full;
mod kill;
pub(super) mod look;
mod resets;
mod steps;
mod world;
