//! Tests of the crate's public API.

mod identities;
mod lock;
mod names;
mod protocol;
mod trust;

#[path = "../../../sigstore/tests/all/world.rs"]
mod world;
