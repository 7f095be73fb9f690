//! `bub:plugin/config`: the plugin's own table, and behind it what every agent loop needs of the whole program.

use super::Grants;
use crate::plugin::bindings::Error;
use crate::plugin::bindings::config::Host;
use crate::plugin::store::State;
use serde_json::{Value, json};
use wasmtime::Result;

impl Host for State {
    async fn get(&mut self, key: String) -> Result<Option<String>> {
        let own = self.plugin.config.get(&key).cloned();
        let config = &self.host.config;
        let value = own.or_else(|| match key.as_str() {
            "model" => Some(json!(config.model.model)),
            "fallback-models" => Some(json!(config.fallback_models)),
            "max-steps" => config.max_steps.map(Value::from),
            "max-tokens" => Some(json!(config.model.max_tokens)),
            _ => None,
        });
        Ok(value.map(|value| value.to_string()))
    }

    async fn granted(&mut self, grant: String) -> Result<std::result::Result<(), Error>> {
        if let Err(reason) = Grants::check(&grant) {
            return Ok(Err(Error::invalid(format!("what was asked about is {reason}"))));
        }
        // Only a question: nothing was done, so nothing was refused that the tape would have to say.
        Ok(if self.holds(&grant) { Ok(()) } else { Err(self.plugin.refusal(&grant)) })
    }
}
