//! Redaction of bundles.

use anyhow::{Context, Result};
use bub_redact::REPLACEMENT;
use toml::{Table, Value};

/// A hash in hex has this many digits.
const DIGEST_LENGTH: usize = 64;

/// `config.toml` without comments, and without texts other than those listed here.
pub(super) fn config(text: &str) -> Result<String> {
    let table: Table = text.parse().context("config.toml is not TOML")?;
    Ok(redact_table(&table, &mut Vec::new()).to_string())
}

fn redact_table(table: &Table, path: &mut Vec<String>) -> Table {
    let redacted = table.iter().map(|(key, value)| {
        path.push(key.clone());
        let value = redact_value(value, path);
        path.pop();
        (if is_digest(key) { key.clone() } else { mask(key) }, value)
    });
    redacted.collect()
}

fn redact_value(value: &Value, path: &mut Vec<String>) -> Value {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let is_plugins_own = matches!(keys[..], ["plugins" | "trusted_plugins", _, "config", ..]);
    match value {
        Value::Boolean(_) => value.clone(),
        // A plugin's settings may contain personal data, also in their keys.
        _ if is_plugins_own && keys.len() > 3 => REPLACEMENT.into(),
        Value::Table(table) => redact_table(table, path).into(),
        Value::Array(list) => list.iter().map(|one| redact_value(one, path)).collect::<Vec<_>>().into(),
        Value::String(text) => match keys[..] {
            ["plugins", _, "digest"] if is_digest(text) => text.clone().into(),
            _ if is_shown(&keys) => mask(text).into(),
            _ => REPLACEMENT.into(),
        },
        _ => value.clone(),
    }
}

/// Whether a text of the configuration is shown: names of models and plugins, and enumerated values.
fn is_shown(keys: &[&str]) -> bool {
    match keys {
        [key] => {
            let shown = ["model", "fallback_models", "embedding_model", "selector", "shadow_selector", "durability"];
            shown.contains(key)
        }
        ["plugins" | "trusted_plugins", _, key] => ["grants", "on_fault"].contains(key),
        ["channels", _, key] => ["commands", "selector", "tools", "resend"].contains(key),
        ["tokens", key] => ["scopes", "principal"].contains(key),
        ["policy", "approve"]
        | ["process", "env" | "network" | "sandbox" | "registries"]
        | ["serve", "listen" | "enabled_channels"] => true,
        _ => false,
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes what looks like a key, names and passwords in addresses, and the user's home.
pub(super) fn mask(text: impl AsRef<str>) -> String {
    let home = std::env::home_dir().filter(|home| home.components().count() > 1);
    let home = home.as_deref().and_then(|home| home.to_str());
    match home {
        Some(home) => bub_redact::mask(&text.as_ref().replace(home, "~")),
        None => bub_redact::mask(text.as_ref()),
    }
}
