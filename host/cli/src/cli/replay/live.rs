//! `replay --live`: the model that is asked what was not asked when a turn was recorded, and what that costs.

use crate::cli::text;
use anyhow::{Context, Result, bail};
use bub_config::{Config, DEFAULT_MODEL, Prices};
use bub_model::usage::Sum;
use bub_model::{Client, Request};
use bub_runtime::plugin::recording::{LiveAnswer, LiveModel};
use bub_types::text::one_line;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// Characters of an answer that are shown.
const SHOWN: usize = 160;

/// The model, and the prices of its calls.
pub(super) struct Live {
    model: Arc<LiveModel>,
    prices: Prices,
    max_calls: usize,
}

/// A model call that was made.
pub(super) struct LiveCall {
    answer: Arc<LiveAnswer>,
    cost: Option<String>,
}

impl Live {
    /// The configured model, to be asked so often at most.
    ///
    /// # Errors
    ///
    /// None is configured, or it is none that is asked over HTTP.
    pub(super) fn new(config: &Config, max_calls: usize) -> Result<Self> {
        let name = &config.model.model;
        if name == DEFAULT_MODEL {
            bail!("`--live` has no model to ask: set `model` in config.toml");
        }
        let client = Client::new(config.model.clone())?;
        // A provider that is a plugin has no server, and a replay runs no plugin with its grants.
        let request = Request { model: Some(name.clone()), ..Request::default() };
        client.body(&request).with_context(|| format!("`--live` cannot ask `{}`", one_line(name)))?;
        let model = Arc::new(LiveModel::new(client, name.clone(), max_calls));
        Ok(Self { model, prices: config.prices.clone(), max_calls })
    }

    pub(super) fn model(&self) -> Arc<LiveModel> {
        self.model.clone()
    }

    /// The number of calls so far.
    pub(super) fn count(&self) -> usize {
        self.model.calls().len()
    }

    /// The calls after the first so many.
    pub(super) fn since(&self, count: usize) -> Vec<LiveCall> {
        let calls = self.model.calls().into_iter().skip(count);
        calls.map(|answer| LiveCall { cost: self.cost(std::slice::from_ref(&answer)), answer }).collect()
    }

    /// What the calls cost; none where one of their models has no price.
    fn cost(&self, calls: &[Arc<LiveAnswer>]) -> Option<String> {
        let each = calls.iter().map(|call| self.prices.cost(&call.model, &used(call)));
        let currency = self.prices.currency.as_deref().map(|currency| format!(" {currency}")).unwrap_or_default();
        each.sum::<Option<f64>>().map(|cost| format!("{cost:.6}{currency}"))
    }

    pub(super) fn to_json(&self) -> Value {
        let calls = self.model.calls();
        let (prompt, completion) = tokens(&calls);
        json!({
            "calls": calls.len(),
            "max_calls": self.max_calls,
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "cost": self.cost(&calls),
        })
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = self.model.calls();
        let (prompt, completion) = tokens(&calls);
        let count = text::count(calls.len() as u64, "live model call", "live model calls");
        write!(f, "{count} of at most {}: {prompt} + {completion} tokens", self.max_calls)?;
        match self.cost(&calls) {
            Some(cost) => write!(f, ", {cost}"),
            None => f.write_str(", without a price in config.toml"),
        }
    }
}

impl LiveCall {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "model": self.answer.model,
            "answer": self.answer.text(),
            "tools": self.answer.tools(),
            "error": self.answer.error.as_ref().map(|error| error.told()),
            "prompt_tokens": self.answer.tokens.prompt,
            "completion_tokens": self.answer.tokens.completion,
            "cost": self.cost,
        })
    }
}

impl fmt::Display for LiveCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = &self.answer;
        let (model, said) = (one_line(&answer.model), answer.text());
        write!(f, "`{model}`")?;
        match &answer.error {
            Some(error) => write!(f, " failed: {}", one_line(&error.told()))?,
            None => write!(f, " answered `{}`", text::cut(&one_line(&said), SHOWN))?,
        }
        for tool in answer.tools().iter().take(8) {
            write!(f, ", calls `{}`", text::cut(&one_line(tool), 64))?;
        }
        write!(f, "  ({} + {} tokens", answer.tokens.prompt, answer.tokens.completion)?;
        self.cost.iter().try_for_each(|cost| write!(f, ", {cost}"))?;
        f.write_str(")")
    }
}

fn used(call: &LiveAnswer) -> Sum {
    let tokens = &call.tokens;
    Sum {
        calls: 1,
        estimated: u64::from(tokens.is_estimate),
        prompt: tokens.prompt,
        cached: tokens.cached,
        completion: tokens.completion,
        total: tokens.total,
    }
}

/// The tokens of requests and answers.
fn tokens(calls: &[Arc<LiveAnswer>]) -> (u64, u64) {
    calls.iter().fold((0, 0), |(prompt, completion), call| {
        (prompt.saturating_add(call.tokens.prompt), completion.saturating_add(call.tokens.completion))
    })
}
