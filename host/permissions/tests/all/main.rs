//! The policy for tool calls, through the public API of the crate.

mod destructive;
mod fuzz;
mod outside;
mod network;
