//! The tools of the agent loop itself: spilled results, the choice of model, usage, and subagents.

mod choice;
pub mod help;
pub mod session;
pub mod spill;
pub mod subagent;
pub mod usage;
