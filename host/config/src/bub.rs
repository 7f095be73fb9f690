//! What Bub was told by variables and by `config.yml`: what of it holds here, and what is not read.

use super::environment::Environment;
use super::{Plugin, Serve};
use anyhow::Result;
use bub_types::text::one_line;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Bub's file of settings, below `$BUB_HOME`.
const FILE: &str = "config.yml";

/// The variables that are read, without the `BUB_` in front. Those of secrets and providers are told by their forms.
const READ: [&str; 25] = [
    "ACTIVE_TIME_WINDOW",
    "API_BASE",
    "API_KEY",
    "CACHE",
    "CLIENT_ARGS",
    "COMPLETION_ARGS",
    "DEBOUNCE_SECONDS",
    "ENABLED_CHANNELS",
    "FAILPOINT",
    "FALLBACK_MODELS",
    "FORMAT",
    "HOME",
    "INSECURE_HTTP",
    "MAX_STEPS",
    "MAX_TOKENS",
    "MAX_WAIT_SECONDS",
    "MODEL",
    "MODEL_TIMEOUT_SECONDS",
    "RETRY_BASE_MS",
    "SPILL_THRESHOLD",
    "STREAM_OUTPUT",
    "TELEGRAM_ALLOW_CHATS",
    "TELEGRAM_ALLOW_USERS",
    "TELEGRAM_TOKEN",
    "VERBOSE",
];

/// Bub's variables without a counterpart, and what to do instead.
const WITHOUT_COUNTERPART: [(&str, &str); 3] = [
    ("API_FORMAT", "the provider in `BUB_MODEL` says how its server is spoken to: `anthropic:MODEL` or `openai:MODEL`"),
    ("PROJECT", "plugins are WebAssembly components: `bub-wasm plugin add` installs one"),
    ("TELEGRAM_PROXY", "requests of plugins use no proxy"),
];

/// How long messages of a chat are waited for, on channels of which config.toml says nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pauses {
    /// `BUB_DEBOUNCE_SECONDS`.
    pub debounce_seconds: Option<f64>,
    /// `BUB_MAX_WAIT_SECONDS`.
    pub max_wait_seconds: Option<f64>,
    /// `BUB_ACTIVE_TIME_WINDOW`.
    pub active_time_window: Option<f64>,
}

impl Pauses {
    pub(super) fn read(environment: &Environment) -> Result<Self> {
        Ok(Self {
            debounce_seconds: environment.seconds("DEBOUNCE_SECONDS")?,
            max_wait_seconds: environment.seconds("MAX_WAIT_SECONDS")?,
            active_time_window: environment.seconds("ACTIVE_TIME_WINDOW")?,
        })
    }
}

/// Puts what Bub's variables say of channels in the place of what the file says.
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

/// Something that was said to Bub, or to this program by mistake, and that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The variable or the file.
    pub name: String,
    /// What to do about it.
    pub advice: String,
}

/// Everything of that kind, in order. Values are not looked at: they may be keys.
pub(super) fn unread(environment: &Environment, home: &Path) -> Vec<Unread> {
    let mut names: Vec<&str> = environment.names().filter(|name| !is_read(name)).collect();
    names.sort_unstable();
    let variable = |name: &str| {
        let without = WITHOUT_COUNTERPART.iter().find(|(known, _)| *known == name).map(|(_, advice)| *advice);
        let near = bub_types::suggest::nearest(name, READ).map(|near| format!("did you mean `BUB_{near}`"));
        let advice = without.map(str::to_owned).or(near).unwrap_or_else(|| "nothing here has that name".to_owned());
        let shown: String = one_line(name).chars().take(100).collect();
        Unread { name: format!("BUB_{shown}"), advice }
    };
    let mut unread: Vec<Unread> = names.into_iter().map(variable).collect();
    if home.join(FILE).exists() {
        let advice = "write what it sets into config.toml (`bub-wasm doctor --config` shows the keys) or .env";
        unread.push(Unread { name: FILE.to_owned(), advice: advice.to_owned() });
    }
    unread
}

fn is_read(name: &str) -> bool {
    let forms = name.starts_with("SECRET_") || name.ends_with("_API_KEY") || name.ends_with("_API_BASE");
    forms || READ.contains(&name)
}
