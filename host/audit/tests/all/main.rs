//! Tests of the crate, through its public interface.

mod chain;
mod cose;
mod home;
mod stores;
mod tampering;
