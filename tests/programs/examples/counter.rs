//! Calls the host as often as `[plugins.NAME.config] rounds` says: an import that needs a grant when `gated` is true,
//! else one that needs none. Its answer is how many of the calls were refused.

wit_bindgen::generate!({ path: ["../../wit", "wit"], world: "bub:programs/model", generate_all });

use bub::plugin::{config, secrets};
use bub::turn::turn::Turn;
use bub::types::types::{Error, Prompt};

struct Counter;

impl exports::bub::hooks::run_model::Guest for Counter {
    fn run_model(_turn: Turn, _prompt: Prompt) -> Result<Option<String>, Error> {
        let number = |key: &str| config::get(key).and_then(|text| text.parse::<u32>().ok());
        let rounds = number("rounds").unwrap_or(1);
        let is_gated = config::get("gated").as_deref() == Some("true");
        let mut refused = 0;
        for _ in 0..rounds {
            // Both take a short name and answer with a short text or nothing.
            match is_gated {
                true => refused += u32::from(secrets::placeholder("bench").is_err()),
                false => refused += u32::from(config::get("bench").is_some()),
            }
        }
        Ok(Some(refused.to_string()))
    }
}

export!(Counter);
