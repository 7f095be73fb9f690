//! The outcome of a turn.

use bub_model::usage::Tokens;
use bub_runtime::error::Failure;
use bub_runtime::turn::TurnResult;
use bub_types::{Envelope, Error};
use serde::{Deserialize, Serialize};

/// The outcome of the turn that a message was part of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TurnOutcome {
    /// The session of the turn.
    pub session_id: String,
    /// The ids of its model calls, which are in the meta of the entries that they wrote.
    pub run_ids: Vec<String>,
    /// The model's answer.
    pub model_output: String,
    /// The messages to deliver.
    pub outbounds: Vec<Envelope>,
    /// Tokens that its model calls used.
    pub usage: Tokens,
    /// Why there is no answer.
    pub error: Option<Error>,
}

impl TurnOutcome {
    /// Of a turn that failed before it ran.
    pub(crate) fn failed(session_id: String, failure: &Failure) -> Self {
        Self { error: Some(failure.to_user_error()), ..Self::silent(session_id) }
    }

    /// Of a message that gets no answer.
    pub(crate) fn silent(session_id: String) -> Self {
        Self {
            session_id,
            run_ids: Vec::new(),
            model_output: String::new(),
            outbounds: Vec::new(),
            usage: Tokens::default(),
            error: None,
        }
    }
}

impl From<TurnResult> for TurnOutcome {
    fn from(result: TurnResult) -> Self {
        Self {
            session_id: result.session_id,
            run_ids: result.run_ids,
            model_output: result.output,
            outbounds: result.outbounds,
            usage: result.usage,
            error: None,
        }
    }
}
