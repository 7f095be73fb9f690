//! Turns without a model: a client does itself what the model would.

use super::data::Turn;
use super::options::TurnOptions;
use super::pipeline::{TurnResult, drive};
use crate::error::Failure;
use crate::host::Host;
use bub_types::Envelope;
use std::pin::Pin;
use std::sync::Arc;

/// Takes the place of the prompt, the model and the delivery in a turn. Answers the output.
pub type DirectStage<'a> = &'a (dyn Fn(Arc<Turn>) -> DirectFuture + Send + Sync);

/// The work of a [`DirectStage`].
pub type DirectFuture = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;

/// Runs a turn without a model: `stage` is all that it does between `load-state` and `save-state`. Nothing is delivered, and
/// `after-turn` is not told.
///
/// # Errors
///
/// Those of [`run_turn`](super::run_turn).
pub async fn run_direct(
    host: &Arc<Host>,
    inbound: Envelope,
    options: TurnOptions,
    stage: DirectStage<'_>,
) -> Result<TurnResult, Failure> {
    drive(host, inbound, options.directly(), Some(stage)).await
}
