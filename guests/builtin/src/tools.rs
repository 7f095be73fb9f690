//! The tools of the agent loop itself: spilled results, the choice of model, usage, subagents, and the search for tools.

mod choice;
pub mod help;
mod rank;
pub mod search;
pub mod session;
pub mod spill;
pub mod subagent;
pub mod usage;
