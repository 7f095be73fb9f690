//! What the user adds to the rules by which tool calls are judged.

use crate::grants::policy::run_later::RunsLater;
use serde::Deserialize;

/// `[policy]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Files that run later, beside those that the host knows: to write them is `run`.
    pub runs_later: RunsLater,
}
