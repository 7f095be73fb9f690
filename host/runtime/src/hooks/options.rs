//! `provide-model-options`: the models that a session could ask.

use super::guest_call::guest_call;
use super::{call_one, report_failure};
use crate::guest::CallContext;
use crate::turn::Turn;
use bub_types::hook::Hook;
use bub_types::text::one_line;
use bub_types::{ModelChoice, ModelOptions};
use std::sync::Arc;

/// Models that are offered by all plugins together: more than a user reads.
const MAX_CHOICES: usize = 256;

/// All choices, the latest registered plugin's first, each id once; the first plugin that knows says which is current.
/// A plugin that fails is left out, and the failure is reported.
pub async fn model_options(turn: &Arc<Turn>, depth: u32) -> ModelOptions {
    let context = CallContext::inside(Hook::ProvideModelOptions, turn, depth);
    let mut options = ModelOptions { choices: Vec::new(), current: None };
    for plugin in turn.scope.callable(&context) {
        let session = turn.session_id.as_str();
        let ask = guest_call!(provide_model_options.call_provide_model_options(session));
        match call_one(&turn.scope, plugin, context.clone(), ask).await {
            Ok(offered) => add(&mut options, offered),
            Err(failure) => report_failure(&turn.scope, &context, &failure).await,
        }
    }
    options
}

fn add(options: &mut ModelOptions, offered: ModelOptions) {
    for choice in offered.choices {
        let choice = ModelChoice { id: one_line(&choice.id), name: one_line(&choice.name) };
        let is_new = !choice.id.is_empty() && !options.choices.iter().any(|other| other.id == choice.id);
        if is_new && options.choices.len() < MAX_CHOICES {
            options.choices.push(choice);
        }
    }
    let current = offered.current.map(|current| one_line(&current)).filter(|current| !current.is_empty());
    options.current = options.current.take().or(current);
}
