//! Takes out of a bundle what may be a secret.

use anyhow::{Context, Result};
use toml::{Table, Value};

/// Stands in place of what is left out.
const HIDDEN: &str = "***";

/// Letters and digits in one run from which on they are taken for a key: names of models and plugins have shorter ones.
const KEY_LENGTH: usize = 20;

/// A hash in hex has this many digits.
const DIGEST_LENGTH: usize = 64;

/// `config.toml` without comments and without texts other than those that are listed here.
pub(super) fn config(text: &str) -> Result<String> {
    let table: Table = text.parse().context("config.toml is no TOML")?;
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
        // What a plugin is told may be a person's number, or hold data in its keys.
        _ if is_plugins_own && keys.len() > 3 => HIDDEN.into(),
        Value::Table(table) => redact_table(table, path).into(),
        Value::Array(list) => list.iter().map(|one| redact_value(one, path)).collect::<Vec<_>>().into(),
        Value::String(text) => match keys[..] {
            ["plugins", _, "digest"] if is_digest(text) => text.clone().into(),
            _ if is_shown(&keys) => mask(text).into(),
            _ => HIDDEN.into(),
        },
        _ => value.clone(),
    }
}

/// Whether a text of the configuration is shown: it names a model, a plugin or a choice among a few words.
fn is_shown(keys: &[&str]) -> bool {
    match keys {
        [key] => {
            let shown = ["model", "fallback_models", "embedding_model", "selector", "shadow_selector", "durability"];
            shown.contains(key)
        }
        ["plugins" | "trusted_plugins", _, key] => ["grants", "on_fault"].contains(key),
        ["channels", _, key] => ["commands", "selector", "tools", "resend"].contains(key),
        ["tokens", key] => ["scopes", "principal"].contains(key),
        ["policy", "approve"] | ["process", "env"] | ["serve", "listen" | "enabled_channels"] => true,
        _ => false,
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The text without what looks like a key, without names and passwords in addresses, and without the user's home.
pub(super) fn mask(text: impl AsRef<str>) -> String {
    let home = std::env::home_dir().filter(|home| home.components().count() > 1);
    let home = home.as_deref().and_then(|home| home.to_str());
    let text = home.map_or_else(|| text.as_ref().to_owned(), |home| text.as_ref().replace(home, "~"));
    let mut masked = String::with_capacity(text.len());
    let mut run = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            run.push(c);
            continue;
        }
        masked.push_str(shown(&run));
        run.clear();
        if c == '@' {
            hide_user(&mut masked);
        }
        masked.push(c);
    }
    masked.push_str(shown(&run));
    masked
}

/// What is shown of letters and digits in one run.
fn shown(run: &str) -> &str {
    let is_mixed = run.bytes().any(|byte| byte.is_ascii_digit()) && run.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_one_word = run.len() >= 2 * KEY_LENGTH && !run.contains('_');
    if run.len() >= KEY_LENGTH && is_mixed || is_one_word { HIDDEN } else { run }
}

/// Takes away what stands between `://` and the `@` that follows.
fn hide_user(masked: &mut String) {
    let Some(start) = masked.rfind("://").map(|at| at + "://".len()) else { return };
    let is_authority = !masked[start..].contains(|c: char| c == '/' || c.is_whitespace());
    if is_authority {
        masked.truncate(start);
        masked.push_str(HIDDEN);
    }
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn keys_and_passwords_are_masked_and_names_are_not() {
        for plain in ["openai:gpt-4o-mini-2024-07-18", "anthropic:claude-sonnet-4-20250514", "hook:build-prompt", "a@b"]
        {
            assert_eq!(mask(plain), plain);
        }
        assert_eq!(mask("key sk-proj-Zx81kPq93LmNb72QwErTy6, next"), "key sk-proj-***, next");
        assert_eq!(mask("at https://me:hunter2@host:80/v1?a=b"), "at https://***@host:80/v1?a=b");
        assert_eq!(mask("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"), "***");
    }
}
