//! Hooks and the other calls into plugins: dispatch mode, stage, privileges, deadline and replay of each.

mod call;
mod spec;
mod table;

pub use call::Call;
pub use spec::{Deadline, DispatchMode, HookSpec, Replay};
pub use table::{HOOKS, Hook};
