//! The variables `BUB_*` that are read, their purpose, and whether their values may be shown.

use super::environment::Environment;
use anyhow::Result;
use bub_system::environment as process_environment;
use std::collections::BTreeMap;
use std::path::Path;

/// A variable of the program.
pub struct Variable {
    /// The name without `BUB_`.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// Whether the value may be part of a bug report: not a key, an address or a person.
    pub is_public: bool,
}

const fn public(name: &'static str, about: &'static str) -> Variable {
    Variable { name, about, is_public: true }
}

const fn private(name: &'static str, about: &'static str) -> Variable {
    Variable { name, about, is_public: false }
}

/// All variables with fixed names.
pub const VARIABLES: [Variable; 28] = [
    public(
        "ACTIVE_TIME_WINDOW",
        "Default of `channels.NAME.active_time_window`: seconds for which a group chat is followed after a message to the agent.",
    ),
    private("API_BASE", "Address of the model's server, or a JSON object of addresses by provider."),
    private("API_KEY", "Key for the model's server, or a JSON object of keys by provider."),
    public(
        "BACKGROUND_COMPILE",
        "Whether `run`, after it compiled built-in plugins quickly, leaves a process behind that compiles them again for speed. Default: `true`.",
    ),
    public("CACHE", "Directory of compiled plugins. Default: `$BUB_HOME/cache`."),
    private("CLIENT_ARGS", "JSON object; its `default_headers` are sent with every request to a model."),
    private("COMPLETION_ARGS", "JSON object that is merged into the body of every request to a model."),
    public(
        "DEBOUNCE_SECONDS",
        "Default of `channels.NAME.debounce_seconds`: seconds to wait for further messages of a chat before a turn starts.",
    ),
    public("ENABLED_CHANNELS", "Overrides `serve.enabled_channels`: a list with commas, or a JSON list."),
    public("FAILPOINT", "Debug builds only: ends the process at a named step of a write."),
    public("FALLBACK_MODELS", "Overrides `fallback_models`: a JSON list of `provider:model`."),
    public("FORMAT", "What `run` prints: `text`, `bub` or `json`. `--format` overrides it."),
    public("HOME", "Directory of the configuration, plugins and tapes. Default: `~/.bub`. `--home` overrides it."),
    public("INSECURE_HTTP", "Overrides `insecure_http`: `true` or `false`."),
    public("MAX_STEPS", "Overrides `max_steps`."),
    public("MAX_TOKENS", "Overrides `max_tokens`."),
    public(
        "MAX_WAIT_SECONDS",
        "Default of `channels.NAME.max_wait_seconds`: longest wait for messages that do not address the agent.",
    ),
    public("MODEL", "Overrides `model`: `provider:model`."),
    public("MODEL_TIMEOUT_SECONDS", "Overrides `model_timeout_seconds`."),
    public(
        "RETRY_BASE_MS",
        "Delay before the first retry of a request to a model, in milliseconds; each further one doubles it.",
    ),
    public("SANDBOX", "Overrides `process.sandbox`: `auto`, `bwrap`, `landlock` or `off`."),
    public("SPILL_THRESHOLD", "Overrides `spill_threshold`."),
    public(
        "STREAM_OUTPUT",
        "Whether a channel that can edit its messages shows an answer while it is written. Default: `true`.",
    ),
    private("TELEGRAM_ALLOW_CHATS", "Sets `plugins.telegram.config.allow_chats`: a list of chat ids."),
    private("TELEGRAM_ALLOW_USERS", "Sets `plugins.telegram.config.allow_users`: a list of user ids or names."),
    private(
        "TELEGRAM_TOKEN",
        "Token of the Telegram bot; the same as `BUB_SECRET_TELEGRAM_TOKEN` for `api.telegram.org`.",
    ),
    public("TOOL_BUDGET", "Overrides `tool_budget`."),
    public("VERBOSE", "Log level: 0 for warnings, 1 for information, 2 for everything. `RUST_LOG` overrides it."),
];

/// Patterns of variables, by full name, with descriptions. [`super::OTEL_VARIABLES`] has those of OpenTelemetry.
pub const FORMS: [(&str, &str); 9] = [
    (
        "BUB_PROVIDER_API_KEY",
        "Key for the models of one provider, as in `BUB_GROQ_API_KEY`. `BUB_API_KEY` overrides it.",
    ),
    ("BUB_PROVIDER_API_BASE", "Address of the server of one provider. `BUB_API_BASE` overrides it."),
    (
        "BUB_SECRET_NAME",
        "Value of the secret `name`. `file:/path` names a file that holds it. Overrides `secrets.toml`.",
    ),
    ("BUB_SECRET_NAME_HOSTS", "Hosts that the secret `name` may be sent to, with commas between them."),
    (
        "PROVIDER_API_KEY",
        "Key of a provider as its own tools read it, as in `OPENAI_API_KEY`. Any `BUB_` variable overrides it.",
    ),
    (
        "PROVIDER_BASE_URL, PROVIDER_API_BASE",
        "Address of a provider's server as its own tools read it, as in `OPENAI_BASE_URL`.",
    ),
    ("OLLAMA_HOST", "Address of an Ollama server: `HOST`, `HOST:PORT` or a URL."),
    ("RUST_LOG", "Log filter of the `tracing` crate, as in `bub_wasm=debug`. Overrides `BUB_VERBOSE`."),
    ("NO_COLOR, TERM", "`NO_COLOR` with any value, or `TERM=dumb`, turns colours off."),
];

/// Whether a variable is read; `name` is without `BUB_`.
pub(super) fn is_read(name: &str) -> bool {
    let forms = name.starts_with("SECRET_") || name.ends_with("_API_KEY") || name.ends_with("_API_BASE");
    forms || VARIABLES.iter().any(|known| known.name == name)
}

/// The names of all variables of the process and of `.env`, with the values of public ones.
///
/// # Errors
///
/// `.env` cannot be read.
pub fn report(home: &Path) -> Result<BTreeMap<String, Option<String>>> {
    let environment = Environment::read(home)?;
    let mut all: BTreeMap<String, Option<String>> =
        process_environment::all().into_iter().map(|(name, _)| (name.to_string_lossy().into_owned(), None)).collect();
    for (name, value) in environment.all() {
        let is_public = |known: &Variable| known.is_public && name.strip_prefix("BUB_") == Some(known.name);
        let shown = VARIABLES.iter().any(is_public).then_some(value);
        all.insert(name, shown);
    }
    Ok(all)
}
