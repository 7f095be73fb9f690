//! `embedder`: a plugin turns texts into vectors.

use super::guest_call::guest_call;
use super::{call_one, report_failure};
use crate::error::Failure;
use crate::guest::CallContext;
use crate::guest::bindings::model_exports::embedder::Purpose;
use crate::plugin::recording::copied;
use crate::plugin::{Plugin, contract};
use crate::turn::Turn;
use bub_model::check_vectors;
use bub_types::hook::Hook;
use bub_types::text::one_line;
use std::sync::Arc;

const HOOK: Hook = Hook::Embedder;

copied!(Purpose);

/// The longest name of a model.
const MAX_NAME: usize = 200;

/// The plugin that compares meanings, if there is one: the latest registered.
pub fn embedder(turn: &Arc<Turn>) -> Option<Arc<Plugin>> {
    turn.scope.callable(&CallContext::inside(HOOK, turn, 0)).next().cloned()
}

/// The name under which its vectors are kept.
pub async fn embedding_name(turn: &Arc<Turn>, plugin: &Arc<Plugin>) -> Option<String> {
    let ask = guest_call!(embedder.call_model(), name => Ok(Ok(name)));
    let context = CallContext::inside(HOOK, turn, 0);
    match call_one(&turn.scope, plugin, context.clone(), ask).await {
        Ok(name) => Some(one_line(&name).chars().take(MAX_NAME).collect()),
        Err(failure) => {
            report_failure(&turn.scope, &context, &failure).await;
            None
        }
    }
}

/// One vector for each text.
pub async fn embed(
    turn: &Arc<Turn>,
    plugin: &Arc<Plugin>,
    texts: &[String],
    purpose: Purpose,
) -> Result<Vec<Vec<f32>>, Failure> {
    let ask = guest_call!(embedder.call_embed(texts, purpose), vectors => {
        if let Ok(vectors) = &vectors {
            if vectors.len() != texts.len() {
                return Err(contract(format!("{} vectors came for {} texts", vectors.len(), texts.len())));
            }
            check_vectors(vectors).map_err(|why| contract(format!("its answer {why}")))?;
        }
        Ok(vectors)
    });
    let context = CallContext::inside(HOOK, turn, 0);
    let answer = call_one(&turn.scope, plugin, context.clone(), ask).await;
    if let Err(failure) = &answer {
        report_failure(&turn.scope, &context, failure).await;
    }
    answer
}
