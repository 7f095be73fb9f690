//! The keys of what the agent may change: rules for commands.

use super::{Key, key};
use bub_config::Config;
use serde_json::{Value, json};

pub(super) fn keys(config: &Config) -> Vec<Key> {
    vec![
        key(
            "process.rules[].prefix",
            Value::Null,
            json!(config.process.rules.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "words that a command begins with, as a list or as a line",
        ),
        key("process.rules[].decision", Value::Null, Value::Null, "what holds for it: `allow`, `ask` or `deny`"),
        key("process.rules[].why", Value::Null, Value::Null, "the reason, for the owner and the model"),
        key("process.rules[].tainted", false, Value::Null, "whether `allow` holds in tainted turns too"),
        key("process.rules[].exact", false, Value::Null, "whether `allow` holds without further arguments alone"),
    ]
}
