//! `[prices]`: the cost of model calls, as the user knows it.

use anyhow::{Result, ensure};
use bub_model::usage::Sum;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Prices are per so many tokens.
const PER: f64 = 1_000_000.0;

/// `[prices]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    /// The currency, as ISO 4217 has it; none: amounts are shown without one.
    pub currency: Option<String>,
    /// By `provider:model`.
    models: BTreeMap<String, Price>,
}

/// The price of a model, for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    prompt: f64,
    /// Of prompt tokens that the provider read from a cache; none: as others.
    cached: Option<f64>,
    completion: f64,
}

impl Prices {
    /// The cost of calls of a model; `None`: it has no price.
    pub fn cost(&self, model: &str, used: &Sum) -> Option<f64> {
        let price = self.models.get(model)?;
        let cached = used.cached.min(used.prompt);
        let prompt =
            (used.prompt - cached) as f64 * price.prompt + cached as f64 * price.cached.unwrap_or(price.prompt);
        Some((prompt + used.completion as f64 * price.completion) / PER)
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some(currency) = &self.currency {
            let is_code = currency.len() == 3 && currency.bytes().all(|letter| letter.is_ascii_uppercase());
            let shown = bub_types::text::escaped(currency, 20);
            ensure!(is_code, "`prices.currency` of config.toml: `{shown}` is no code of a currency, such as `USD`");
        }
        for (model, price) in &self.models {
            let shown = bub_types::text::escaped(model, 100);
            let table = format!("`[prices.models.\"{shown}\"]` of config.toml");
            bub_model::split(model).map_err(|error| anyhow::anyhow!("{table}: {error}"))?;
            let all = [Some(price.prompt), price.cached, Some(price.completion)];
            let is_amount = |price: f64| price.is_finite() && price >= 0.0;
            ensure!(all.into_iter().flatten().all(is_amount), "{table}: a price is a number from 0");
        }
        Ok(())
    }
}
