//! Why a tool call was made, asked about or denied: the decisions on a tape, in words.

mod explain;
mod find;
mod lines;

pub use explain::{Explanation, explain};
pub use find::{DecisionEvent, decision, decisions};
