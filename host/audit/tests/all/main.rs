//! Tests of the crate, through its public interface.

mod chain;
mod home;
mod stores;
mod tampering;
