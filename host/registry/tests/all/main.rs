//! Tests of the crate's public API.

mod lock;
mod names;
mod protocol;
mod trust;
