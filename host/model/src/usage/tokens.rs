//! Tokens of one call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// More tokens than any model processes at once. Larger numbers are ignored, since one would exhaust the day's budget.
const MAX_TOKENS: u64 = 10_000_000;

/// Bytes per token in estimates.
const BYTES: u64 = 4;

/// Tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Prompt tokens, including cached ones.
    pub prompt: u64,
    /// Prompt tokens that the provider read from a cache.
    pub cached: u64,
    /// Completion tokens.
    pub completion: u64,
    /// The total. It may exceed the sum: some providers count reasoning only here.
    pub total: u64,
    /// Whether this is an estimate, because the provider reported nothing.
    pub is_estimate: bool,
}

impl Tokens {
    /// Parses usage in OpenAI's format; `None` if it is missing or implausible. Missing members are 0, and the total is
    /// at least the sum.
    pub fn reported(usage: &str) -> Option<Self> {
        let usage: Value = serde_json::from_str(usage).ok()?;
        let prompt = count(usage.get("prompt_tokens"))?;
        let completion = count(usage.get("completion_tokens"))?;
        let total = count(usage.get("total_tokens"))?;
        prompt.or(completion).or(total)?;
        let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
        let details = usage.get("prompt_tokens_details");
        let cached = count(details.and_then(|details| details.get("cached_tokens"))).flatten();
        Some(Self {
            prompt,
            cached: cached.unwrap_or(0).min(prompt),
            completion,
            total: total.unwrap_or(0).max(prompt + completion),
            is_estimate: false,
        })
    }

    /// Adds the tokens of another call.
    pub fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
        self.total += other.total;
        self.is_estimate |= other.is_estimate;
    }

    /// An estimate from the bytes sent and received.
    pub fn estimated(sent: u64, received: u64) -> Self {
        let tokens = |bytes: u64| bytes.div_ceil(BYTES).min(MAX_TOKENS);
        let (prompt, completion) = (tokens(sent), tokens(received));
        Self { prompt, cached: 0, completion, total: prompt + completion, is_estimate: true }
    }
}

/// A plausible or missing count; `None` for anything else.
fn count(value: Option<&Value>) -> Option<Option<u64>> {
    match value {
        None | Some(Value::Null) => Some(None),
        Some(value) => value.as_u64().filter(|count| *count <= MAX_TOKENS).map(Some),
    }
}
