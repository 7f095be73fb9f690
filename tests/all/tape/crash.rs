//! Processes that end anywhere: what was acknowledged is on the tape, once, and the next turn runs.

mod driver;
mod look;
mod steps;
mod world;
