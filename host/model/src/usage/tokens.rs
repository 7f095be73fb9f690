//! What one call has used.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// More tokens than any model takes in or gives out at once. A number above that is not believed: it would end the day's
/// budget by itself.
const MAX_TOKENS: u64 = 10_000_000;

/// Bytes per token in estimates.
const BYTES: u64 = 4;

/// Tokens of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// What was sent, the part from a cache included.
    pub prompt: u64,
    /// The part of the prompt that the provider had in a cache.
    pub cached: u64,
    /// What came back.
    pub completion: u64,
    /// All together. It may be more than the sum: some providers count a model's thinking in it only.
    pub total: u64,
    /// Whether this is an estimate, because the provider reported nothing.
    pub is_estimate: bool,
}

impl Tokens {
    /// What the provider says in OpenAI's words; none when it says nothing, or something that cannot be. What it leaves
    /// out is nought, and the total is never less than its parts.
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

    /// Counts another call to these.
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

/// A count that can be, or that is left out; none when it is anything else.
fn count(value: Option<&Value>) -> Option<Option<u64>> {
    match value {
        None | Some(Value::Null) => Some(None),
        Some(value) => value.as_u64().filter(|count| *count <= MAX_TOKENS).map(Some),
    }
}
