//! Settings of Bub: which variables apply here, and which variables and files are not read.

use super::environment::Environment;
use super::variables::{VARIABLES, is_read};
use super::{Plugin, Serve};
use anyhow::Result;
use bub_types::text::{clipped, one_line};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Bub's file of settings, below `$BUB_HOME`.
const FILE: &str = "config.yml";

/// Bub's variables that have no equivalent, and what to use instead.
const WITHOUT_COUNTERPART: [(&str, &str); 3] = [
    ("API_FORMAT", "the provider in `BUB_MODEL` determines the protocol: `anthropic:MODEL` or `openai:MODEL`"),
    ("PROJECT", "plugins are WebAssembly components: `bub-wasm plugin add` installs one"),
    ("TELEGRAM_PROXY", "requests of plugins use no proxy"),
];

/// Default debouncing of chat messages, for channels without settings in config.toml.
#[derive(Debug, Clone, Copy, Default)]
pub struct DebounceDefaults {
    /// `BUB_DEBOUNCE_SECONDS`.
    pub debounce_seconds: Option<f64>,
    /// `BUB_MAX_WAIT_SECONDS`.
    pub max_wait_seconds: Option<f64>,
    /// `BUB_ACTIVE_TIME_WINDOW`.
    pub active_time_window: Option<f64>,
}

impl DebounceDefaults {
    pub(super) fn read(environment: &Environment) -> Result<Self> {
        Ok(Self {
            debounce_seconds: environment.seconds("DEBOUNCE_SECONDS")?,
            max_wait_seconds: environment.seconds("MAX_WAIT_SECONDS")?,
            active_time_window: environment.seconds("ACTIVE_TIME_WINDOW")?,
        })
    }
}

/// Overrides the file's channel settings with Bub's variables.
pub(super) fn fill(environment: &Environment, serve: &mut Serve, plugins: &mut BTreeMap<String, Plugin>) -> Result<()> {
    if let Some(channels) = environment.list("ENABLED_CHANNELS")? {
        serve.enabled_channels = channels;
    }
    for (variable, key) in [("TELEGRAM_ALLOW_USERS", "allow_users"), ("TELEGRAM_ALLOW_CHATS", "allow_chats")] {
        if let Some(allowed) = environment.list(variable)? {
            let allowed: Vec<Value> = allowed.into_iter().map(|one| json!(one)).collect();
            plugins.entry("telegram".to_owned()).or_default().config.insert(key.to_owned(), allowed.into());
        }
    }
    Ok(())
}

/// A variable or file that is set but not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadSetting {
    /// The variable or the file.
    pub name: String,
    /// The advice on how to deal with it.
    pub advice: String,
}

/// All unread variables and files, in order. Values are ignored: they may be keys.
pub(super) fn unread(environment: &Environment, home: &Path) -> Vec<UnreadSetting> {
    let mut names: Vec<&str> = environment.names().filter(|name| !is_read(name)).collect();
    names.sort_unstable();
    let variable = |name: &str| {
        let without = WITHOUT_COUNTERPART.iter().find(|(known, _)| *known == name).map(|(_, advice)| *advice);
        let near = bub_types::suggest::nearest(name, VARIABLES.iter().map(|known| known.name))
            .map(|near| format!("did you mean `BUB_{near}`"));
        let advice = without.map(str::to_owned).or(near).unwrap_or_else(|| "no setting has that name".to_owned());
        let shown = clipped(&one_line(name), 100);
        UnreadSetting { name: format!("BUB_{shown}"), advice }
    };
    let mut unread: Vec<UnreadSetting> = names.into_iter().map(variable).collect();
    if home.join(FILE).exists() {
        let advice = "move its settings to config.toml (`bub-wasm doctor --config` shows the keys) or .env";
        unread.push(UnreadSetting { name: FILE.to_owned(), advice: advice.to_owned() });
    }
    unread
}
