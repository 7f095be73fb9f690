//! The policy for tool calls, through the public API of the crate.

mod commands;
mod destructive;
mod fuzz;
mod network;
mod outside;
