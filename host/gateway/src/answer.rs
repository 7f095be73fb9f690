//! What came of a message.

use bub_model::usage::Tokens;
use bub_runtime::error::Failure;
use bub_runtime::turn::TurnResult;
use bub_types::{Envelope, Error};
use serde::{Deserialize, Serialize};

/// What came of a message: the turn that it was a part of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// The session of the turn.
    pub session_id: String,
    /// The ids of its model calls, which stand in the meta of what they wrote.
    pub run_ids: Vec<String>,
    /// What the model said.
    pub model_output: String,
    /// What goes out.
    pub outbounds: Vec<Envelope>,
    /// What its model calls have used.
    pub usage: Tokens,
    /// Why there is no answer.
    pub error: Option<Error>,
}

impl Answer {
    /// Of a turn that was not.
    pub(super) fn failed(session_id: String, failure: &Failure) -> Self {
        Self { error: Some(failure.to_told()), ..Self::silent(session_id) }
    }

    /// Of a message that was not to be answered.
    pub(super) fn silent(session_id: String) -> Self {
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

impl From<TurnResult> for Answer {
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
