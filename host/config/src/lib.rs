//! The user's configuration: `$BUB_HOME/config.toml`, `$BUB_HOME/.env` and the environment; later sources override
//! earlier ones. Workspaces configure nothing.

#![warn(missing_docs, unreachable_pub)]

mod audit;
mod bub;
mod channels;
mod connection;
mod dotenv;
pub mod edit;
mod environment;
mod file;
mod fingerprint;
mod format;
mod home_version;
mod keys;
mod limits;
mod load;
mod mcp;
mod merge_reload;
mod paths;
mod plugin_registry;
mod plugins;
mod policy;
mod prices;
mod process;
mod providers;
mod quotas;
mod record;
mod registries;
mod section;
mod serve;
mod tapes;
mod telemetry;
mod trial;
mod undo;
mod update;
pub mod variables;

use bub_egress::secret::Secrets;
use bub_recall::Baseline;
use bub_redact::Patterns;
use bub_types::Principal;
use limits::LimitsTable;
use parking_lot::Mutex;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Once;

pub use audit::{Audit, Witness};
pub use bub::{DebounceDefaults, UnreadSetting};
pub use channels::{Channel, Commands, Resend};
pub use fingerprint::Fingerprint;
pub use format::AnswerFormat;
pub use home_version::{HOME_VERSION, downgrade, home_version};
pub use keys::{TypedKey, typed_keys};
pub use limits::Limits;
pub use load::{read_plugins, read_process, read_trust, verbosity};
pub use mcp::{MCP_PROTOCOLS, McpEffect, McpServer, McpTransport, check_mcp_name};
pub use merge_reload::RestartRequired;
pub use plugin_registry::PluginRegistry;
pub use plugins::{OnFault, Plugin, PluginStore, Trusted};
pub use policy::Policy;
pub use prices::Prices;
pub use process::{Process, ProcessLimits};
pub use quotas::{Quota, Quotas};
pub use record::{RecordMode, Recordings};
pub use registries::Registry;
pub use section::{MAX_SETTINGS, Section, SharedSettings};
pub use serve::{Scope, Serve, TlsFiles, Token};
pub use tapes::{TapeSettings, TapeStorage};
pub use telemetry::{OTEL_VARIABLES, Telemetry};
pub use trial::TrialConfig;
pub use undo::Undo;
pub use update::Update;

/// Directory of the user's plugins, below `$BUB_HOME`.
pub const PLUGINS_DIR: &str = "plugins";

/// Directory of a workspace's own plugins, below the workspace.
pub const WORKSPACE_DIR: &str = ".bub";

/// The default model: an embedded guest without a language model.
pub const DEFAULT_MODEL: &str = "offline:demo";

/// The share of a model's context, in percent, above which tools are deferred.
pub const TOOL_BUDGET: u8 = 10;

/// Tools that peers and anonymous senders may use by default: they read the conversation, skills and public pages.
pub const OPEN_TOOLS: [&str; 4] = ["tape.info", "tape.search", "skill", "web.fetch"];

/// The whole configuration, read at once: at the start, and by `serve` again when it changes.
#[derive(Debug)]
pub struct Config {
    /// `$BUB_HOME`; default `~/.bub`.
    pub home: PathBuf,
    /// Files that may hold keys and that other users can read.
    pub exposed: Vec<PathBuf>,
    /// Variables and files of Bub that are not read.
    pub unread: Vec<UnreadSetting>,
    /// Whether this is the configuration of a trial ([`TrialConfig`]).
    pub is_trial: bool,
    /// The fingerprint of [`Self::sources`] from before they were read.
    pub fingerprint: Fingerprint,
    /// `BUB_VERBOSE`.
    verbosity: u64,
    /// `BUB_FORMAT`: what `run` prints.
    pub format: AnswerFormat,
    /// Cache of compiled code: `BUB_CACHE`; default `$BUB_HOME/cache`.
    pub cache_dir: PathBuf,
    /// Whether `run` may leave a process behind that compiles built-in plugins: `BUB_BACKGROUND_COMPILE`.
    pub background_compile: bool,
    /// The model, its endpoint and its options.
    pub model: bub_model::Settings,
    /// Fallback models, in order, for when a model fails before it has sent output.
    pub fallback_models: Vec<String>,
    /// Secrets that plugins may name.
    pub secrets: Secrets,
    /// Patterns of the models' keys and other secret settings, for redaction.
    hidden: Patterns,
    /// Maximum steps of the agent loop in a turn; none: unlimited.
    pub max_steps: Option<u64>,
    /// Settings of plugins, by name.
    pub plugins: BTreeMap<String, Plugin>,
    /// Trusted workspace plugins, by SHA-256 in hex.
    pub trusted_plugins: BTreeMap<String, Trusted>,
    /// Servers of the Model Context Protocol, by name.
    pub mcp: BTreeMap<String, McpServer>,
    /// Path of this executable, which is started again to compile plugins.
    pub program: PathBuf,
    channels: BTreeMap<String, Channel>,
    /// Directories whose files are trusted.
    pub trusted_workspaces: Vec<PathBuf>,
    limits: LimitsTable,
    /// Tool results of more tokens are spilled; 0: never.
    pub spill_threshold: u64,
    /// The share of a model's context, in percent, above which tools are not sent but found by a search.
    pub tool_budget: u8,
    /// The tools that are always sent, each a name or a beginning with `*`; none: those of the builtin plugin's list.
    pub tools_always: Option<Vec<String>>,
    /// Storage and durability of tapes.
    pub tapes: TapeSettings,
    /// Where plugins are kept; none: the default of [`Self::shares_plugins`].
    plugin_store: Option<PluginStore>,
    /// The database of [`TapeStorage::Postgres`], once it was connected to.
    database: connection::Connection,
    /// The daily budget.
    pub budget: Budget,
    /// The prices of models.
    pub prices: Prices,
    /// The user's rules for tool calls.
    pub policy: Policy,
    /// The selector, unless a channel or a session names another.
    selector: Option<String>,
    /// The shadow selector, which is only compared with the active one.
    pub shadow_selector: Option<String>,
    /// Context windows in tokens, by `provider:model` or model name.
    windows: BTreeMap<String, u32>,
    /// Tokens of the context window that requests leave free; none: a twentieth.
    pub context_reserve: Option<u32>,
    /// The embedding model, `provider:model`; none: search is lexical, unless a plugin embeds.
    pub embedding_model: Option<String>,
    /// The embedding model's similarity of unrelated texts; none: it is measured.
    pub embedding_scale: Option<Baseline>,
    /// Settings of programs that plugins start.
    pub process: Process,
    /// What is kept so that changes of a turn can be undone.
    pub undo: Undo,
    /// Receipts, the chain of a tape's entries, and its witness.
    pub audit: Audit,
    /// Which turns are recorded.
    pub record: RecordMode,
    /// How long recordings are kept.
    pub recordings: Recordings,
    /// Settings of `serve`.
    pub serve: Serve,
    /// Debouncing defaults for channels.
    pub debounce_defaults: DebounceDefaults,
    /// `BUB_STREAM_OUTPUT`: whether answers are streamed, on channels that support edits.
    pub stream_output: bool,
    /// Tokens of the HTTP API, in addition to `serve.token`.
    pub tokens: Vec<Token>,
    /// Quotas by principal.
    pub quotas: Quotas,
    /// The export of traces, metrics and logs.
    pub telemetry: Telemetry,
    /// The registries that plugins come from.
    pub registry: PluginRegistry,
    /// Where newer programs come from.
    pub update: Update,
    /// Whose plugins are loaded.
    pub trust: bub_registry::Trust,
}

/// `[budget]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Tokens for all model calls in a day, local time; none: unlimited.
    pub tokens_per_day: Option<u64>,
}

impl Config {
    /// Redacts secrets and model keys from `text`, in all their encodings.
    pub fn redact(&self, text: &str) -> String {
        self.hidden.redact_text(&self.secrets.redact(text))
    }

    /// [`Self::redact`] for another thread: it learns of secrets that are read later.
    pub fn redactor(&self) -> impl Fn(&str) -> String + Send + Sync + use<> {
        let (secrets, hidden) = (self.secrets.redactor(), self.hidden.clone());
        move |text| hidden.redact_text(&secrets(text))
    }

    /// The patterns of what [`Self::redact`] redacts, for streams.
    pub fn known_secrets(&self) -> [Patterns; 2] {
        [self.secrets.patterns(), self.hidden.clone()]
    }

    /// The settings of a plugin, or the defaults.
    pub fn plugin(&self, name: &str) -> Plugin {
        self.plugins.get(name).cloned().unwrap_or_default()
    }

    /// The names of all `[plugins.NAME]`.
    pub fn plugin_tables(&self) -> impl Iterator<Item = &str> {
        self.plugins.keys().map(String::as_str)
    }

    /// The settings of a channel, or the defaults.
    pub fn channel(&self, name: &str) -> Channel {
        self.channels.get(name).cloned().unwrap_or_default()
    }

    /// Whether peers and anonymous senders may use a read-only tool on a channel.
    pub fn allows_tool(&self, channel: &str, tool: &str) -> bool {
        let named = self.channels.get(channel).and_then(|channel| channel.tools.as_ref());
        named.map_or_else(|| OPEN_TOOLS.contains(&tool), |named| named.iter().any(|name| name == tool))
    }

    /// The comma commands of a channel. Commands run without a model, so only the terminal allows them by default.
    pub fn commands(&self, channel: &str) -> Commands {
        let unset = if channel == "cli" { Commands::All } else { Commands::None };
        self.channel(channel).commands.unwrap_or(unset)
    }

    /// The quota of a caller: a sender of a channel, or over HTTP the bearer of a token.
    pub fn quota(&self, principal: Principal, channel: &str, sender: Option<&str>) -> Quota {
        let is_of = |token: &&Token| Some(token.name.as_str()) == sender && token.principal == principal;
        let token = self.tokens.iter().filter(|_| channel == "http").find(is_of);
        token.map(|token| token.quota).unwrap_or_default().or(self.quotas.for_principal(principal))
    }

    /// Channels with a selector of their own.
    pub fn channels_with_selector(&self) -> impl Iterator<Item = &str> {
        self.channels.iter().filter(|(_, channel)| channel.selector.is_some()).map(|(name, _)| name.as_str())
    }

    /// The configured selector for a channel, and whether it is configured for that channel alone.
    pub fn selector(&self, channel: &str) -> Option<(&str, bool)> {
        let own = self.channels.get(channel).and_then(|channel| channel.selector.as_deref());
        own.map(|name| (name, true)).or_else(|| Some((self.selector.as_deref()?, false)))
    }

    /// A model's context window in tokens, if known; the configuration overrides the built-in table.
    pub fn window(&self, model: &str) -> Option<u32> {
        let name = model.split_once(':').map_or(model, |(_, name)| name);
        self.windows.get(model).or_else(|| self.windows.get(name)).copied().or_else(|| bub_model::window(model))
    }

    /// Tokens for a request's input: the context window less the answer's maximum (at most half of the window) and the
    /// reserve.
    pub fn input_budget(&self, model: &str) -> Option<u32> {
        let window = self.window(model)?;
        let answer = u32::try_from(self.model.max_tokens).unwrap_or(u32::MAX).min(window / 2);
        Some(window.saturating_sub(answer).saturating_sub(self.context_reserve.unwrap_or(window / 20)))
    }

    /// Whether plugins and their settings are those of all workers on the database of the tapes.
    pub fn shares_plugins(&self) -> bool {
        matches!(self.tapes.storage, TapeStorage::Postgres(_))
            && !self.is_trial
            && self.plugin_store != Some(PluginStore::Local)
    }

    /// Whether the owner trusts this workspace's files.
    pub fn trusts(&self, workspace: &Path) -> bool {
        self.trusted_workspaces.iter().any(|trusted| trusted == workspace)
    }

    /// [`Self::spill_threshold`] in characters, at four a token.
    pub fn spill_chars(&self) -> usize {
        usize::try_from(self.spill_threshold.saturating_mul(4)).unwrap_or(usize::MAX)
    }

    /// Warns of files that may hold keys and that other users can read, once per file and process.
    pub fn warn_of_exposed(&self) {
        static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let mut warned = WARNED.lock();
        for path in self.exposed.iter().filter(|path| warned.insert((*path).clone())) {
            tracing::warn!("other users can read `{0}`, which may hold keys: `chmod 600 {0}`", path.display());
        }
    }

    /// Warns of Bub's settings that are not read, once per process.
    pub fn warn_of_unread(&self) {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| {
            for UnreadSetting { name, advice } in &self.unread {
                tracing::warn!("`{name}` is not read: {advice}");
            }
        });
    }

    /// A plugin's limits.
    pub fn limits_of(&self, name: &str) -> Limits {
        let all = Limits::default().with(self.limits);
        self.plugins.get(name).map_or(all, |plugin| all.with(plugin.limits))
    }

    /// The limits of a plugin with these settings.
    pub fn limits_with(&self, settings: &Plugin) -> Limits {
        self.limits().with(settings.limits)
    }

    /// The enabled plugins that are gates.
    pub fn gates(&self) -> impl Iterator<Item = &str> {
        let gates = self.plugins.iter().filter(|(_, plugin)| plugin.enabled && plugin.on_fault == OnFault::Deny);
        gates.map(|(name, _)| name.as_str())
    }

    /// The limits of a turn as a whole.
    pub fn limits(&self) -> Limits {
        Limits::default().with(self.limits)
    }
}
