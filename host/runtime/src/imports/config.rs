//! `bub:plugin/config`: the plugin's own table, and behind it what every agent loop needs of the whole program.

use crate::guest::State;
use crate::guest::bindings::config::Host;
use bub_permissions::Grant;
use bub_types::Error;
use serde_json::{Value, json};
use wasmtime::Result;

impl Host for State {
    async fn get(&mut self, key: String) -> Result<Option<String>> {
        let own = self.plugin.config.get(&key).cloned();
        let config = &self.host.config;
        let value = own.or_else(|| match key.as_str() {
            "model" => Some(json!(config.model.model)),
            "fallback-models" => Some(json!(config.fallback_models)),
            "providers" => Some(self.providers()),
            "max-steps" => config.max_steps.map(Value::from),
            "max-tokens" => Some(json!(config.model.max_tokens)),
            "tool-budget" => Some(json!(config.tool_budget)),
            "tools-always" => config.tools_always.as_ref().map(|tools| json!(tools)),
            _ => None,
        });
        Ok(value.map(|value| value.to_string()))
    }

    async fn granted(&mut self, grant: String) -> Result<std::result::Result<(), Error>> {
        let grant = match grant.parse::<Grant>() {
            Ok(grant) => grant,
            Err(reason) => return Ok(Err(Error::invalid(format!("what was asked about is {reason}")))),
        };
        // Only a question: nothing was done, so nothing was refused that the tape would have to say.
        Ok(if self.holds(&grant) { Ok(()) } else { Err(self.plugin.refusal(&grant)) })
    }
}

impl State {
    /// The providers that a model can be asked of, each with whether a key is known, or none is needed.
    fn providers(&self) -> Value {
        let settings = &self.host.config.model;
        let plugins = self.host.plugins();
        let of_plugins = plugins.iter().filter_map(|plugin| plugin.provider.clone()).map(|name| (name, true));
        let over_http = bub_model::reachable(settings).into_iter();
        over_http.chain(of_plugins).map(|(name, has_key)| (name, Value::from(has_key))).collect()
    }
}
