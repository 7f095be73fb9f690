//! The usage log of model calls: one line per call, one file per day, in `$BUB_HOME/usage`.
//!
//! One log for all processes of a home: budgets are checked against it, and `bub-wasm usage` shows it. The day is local
//! to the writing process.

mod call;
mod lines;
mod log;
mod report;
mod tokens;

pub use call::{Call, clipped};
pub use log::UsageLog;
pub use report::{Report, ReportRow, Session, Sum, report};
pub use tokens::Tokens;
