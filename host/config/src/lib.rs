//! What the user has said: `$BUB_HOME/config.toml`, `$BUB_HOME/.env` and the environment, the later over the earlier.
//! A workspace configures nothing.

mod beside;
mod bub;
mod channels;
mod dotenv;
pub mod edit;
mod environment;
mod file;
mod format;
mod limits;
mod plugins;
mod policy;
mod print;
mod process;
mod providers;
mod quotas;
mod seclude;
mod serve;
mod tapes;

use crate::environment::Environment;
use anyhow::{Context, Result};
use bub_egress::secret::Secrets;
use bub_recall::Baseline;
use bub_redact::{Patterns, encodings};
use bub_system::environment as process_environment;
use bub_system::files::{Access, ProtectedFiles, check_directory, make_private_dir};
use bub_types::Principal;
use file::{File, positive};
use limits::LimitsTable;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

pub use beside::Waiting;
pub use bub::{Pauses, Unread};
pub use channels::{Channel, Commands, Resend};
pub use format::AnswerFormat;
pub use limits::Limits;
pub use plugins::{OnFault, Plugin, Trusted};
pub use policy::Policy;
pub use print::Print;
pub use process::Process;
pub use quotas::{Quota, Quotas};
pub use seclude::Seclusion;
pub use serve::{Scope, Serve, TlsFiles, Token};
pub use tapes::{TapePlace, TapeSettings};

/// Below `$BUB_HOME`: components that the user dropped in.
pub const PLUGINS_DIR: &str = "plugins";

/// Below a workspace: what it brings along for this program. Plugins are all that is looked for in it.
pub const WORKSPACE_DIR: &str = ".bub";

/// The model that answers when none is configured: the embedded guest that is no language model.
pub const DEFAULT_MODEL: &str = "offline:demo";

/// Tools that others than the owner may use on a channel of which nothing else is said: they read the conversation, what
/// the owner wrote for agents, and public pages.
const OPEN_TOOLS: [&str; 4] = ["tape.info", "tape.search", "skill", "web.fetch"];

/// Everything that is configured, as it was read together: at the start, and by `serve` again when it changes.
#[derive(Debug)]
pub struct Config {
    /// `$BUB_HOME`, `~/.bub` unless set.
    pub home: PathBuf,
    /// Files in which a key may stand, and which other users can read.
    pub exposed: Vec<PathBuf>,
    /// What was said to Bub, and is not read.
    pub unread: Vec<Unread>,
    /// Whether it is of a trial, which is gone afterwards.
    pub is_trial: bool,
    /// What [`Self::sources`] held when they were read.
    pub print: Print,
    /// `BUB_VERBOSE`.
    verbosity: u64,
    /// `BUB_FORMAT`: what `run` prints.
    pub format: AnswerFormat,
    /// Where compiled code is kept: `$BUB_HOME/cache`, or `BUB_CACHE`.
    pub cache_dir: PathBuf,
    /// The model and how it is reached.
    pub model: bub_model::Settings,
    /// Models that are asked, in order, when the configured one fails before it has said anything.
    pub fallback_models: Vec<String>,
    /// Keys and tokens that plugins may name.
    pub secrets: Secrets,
    /// The keys of models, and what else their settings hold that is secret.
    hidden: Patterns,
    /// Steps of an agent loop in one turn; none: no limit.
    pub max_steps: Option<u64>,
    pub plugins: BTreeMap<String, Plugin>,
    /// Plugins of workspaces that the owner has vouched for, by the SHA-256 of their bytes in hex.
    pub trusted_plugins: BTreeMap<String, Trusted>,
    /// This program: it starts itself once more to compile a plugin.
    pub program: PathBuf,
    channels: BTreeMap<String, Channel>,
    /// Directories whose files the owner has vouched for.
    pub trusted_workspaces: Vec<PathBuf>,
    limits: LimitsTable,
    /// Tokens above which a tool's result is put aside; 0: none is.
    pub spill_threshold: u64,
    /// Where tapes are kept, and how safely.
    pub tapes: TapeSettings,
    /// What may be spent in a day.
    pub budget: Budget,
    /// What tool calls are judged by, beside the host's own rules.
    pub policy: Policy,
    /// The plugin that selects what of the tape a model is told, unless a channel or a session says otherwise.
    selector: Option<String>,
    /// The plugin that selects beside the one in charge, to be compared with it.
    pub shadow_selector: Option<String>,
    /// Tokens that models take in, by `provider:model` or the model's name.
    windows: BTreeMap<String, u32>,
    /// Tokens of a model's window that requests stay away from; none: a twentieth.
    pub context_reserve: Option<u32>,
    /// The model that compares meanings, `provider:model`; none: words alone are compared, unless a plugin does it.
    pub embedding_model: Option<String>,
    /// What that model says of unrelated texts; none: it is measured.
    pub embedding_scale: Option<Baseline>,
    /// What programs of plugins get.
    pub process: Process,
    /// How `serve` is reached.
    pub serve: Serve,
    /// How long messages are waited for where the file says nothing of the channel.
    pub pauses: Pauses,
    /// `BUB_STREAM_OUTPUT`: whether an answer is shown while it grows, on channels that can change what they have sent.
    pub stream_output: bool,
    /// Who may reach it, beside the bearer of `serve.token`.
    pub tokens: Vec<Token>,
    /// What callers may take, by principal.
    pub quotas: Quotas,
}

/// The shortest key of a model that is taken out of what is written down or shown, in bytes.
const MIN_SECRET: usize = 12;

/// `[budget]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Tokens that all model calls together may use in a day, local time; none: no limit.
    pub tokens_per_day: Option<u64>,
}

impl Config {
    /// `text` with `***` for every secret and every model's key, in whichever spelling: for what is written down or shown.
    pub fn redact(&self, text: &str) -> String {
        self.hidden.clean_text(&self.secrets.redact(text))
    }

    /// Reads everything. `home` is what `--home` says.
    ///
    /// # Errors
    ///
    /// One line that names the file or the variable, and what is wrong with it.
    pub fn load(home: Option<&Path>) -> Result<Self> {
        Self::load_for(home, None)
    }

    /// The same with that model in place of the configured one, where one is named.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_for(home: Option<&Path>, model: Option<&str>) -> Result<Self> {
        let home = home_dir(home)?;
        // Before anything is read: what changes meanwhile is then seen as a change.
        let print = Print::of(sources(&home));
        check_directory(&home).map_err(anyhow::Error::msg)?;
        let mut environment = Environment::read(&home)?;
        if let Some(model) = model {
            environment.set("MODEL", model);
        }
        let file = File::read(&home.join(file::FILE))?;
        let mut model = environment.model()?;
        if !environment.has("MODEL") {
            model.model = file.model.unwrap_or_else(|| DEFAULT_MODEL.into());
        }
        let fallback_models = environment.fallback_models()?.unwrap_or(file.fallback_models);
        // The file stands behind the environment, also behind a variable for one provider alone.
        let provider = model.model.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if model.api_base.is_none() && !model.bases.contains_key(&provider) {
            model.api_base = file.api_base;
        }
        model.insecure_http = environment.flag("INSECURE_HTTP")?.unwrap_or(file.insecure_http);
        if !environment.has("MAX_TOKENS")
            && let Some(max_tokens) = file.max_tokens
        {
            positive("max_tokens", max_tokens)?;
            model.max_tokens = max_tokens;
        }
        if model.timeout.is_none()
            && let Some(seconds) = file.model_timeout_seconds
        {
            let timeout = Some(seconds).filter(|seconds| *seconds > 0.0);
            let timeout = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let wrong = || format!("`model_timeout_seconds` of config.toml: `{seconds}` is not a number of seconds");
            model.timeout = Some(timeout.with_context(wrong)?);
        }
        let secrets = Secrets::load(&home, environment.all())?;
        let models = std::iter::once(&model.model)
            .chain(&fallback_models)
            .chain(&file.embedding_model)
            .cloned()
            .collect::<Vec<_>>();
        providers::fill_addresses(&mut model, &environment, &models);
        providers::fill_from_secrets(&mut model, &secrets, &models)?;
        providers::fill_keys(&mut model, &environment, &models);
        let (mut serve, mut plugins) = (file.serve, file.plugins);
        bub::fill(&environment, &mut serve, &mut plugins)?;
        let own = bub_model::secrets(&model);
        // Only those that nobody says by chance: a local server's key may be `test`.
        let own = own.iter().filter(|secret| secret.len() >= MIN_SECRET);
        let hidden = Patterns::new(own.flat_map(|secret| encodings(secret.as_bytes())));
        let max_steps = environment.positive("MAX_STEPS")?.or(file.max_steps);
        max_steps.map_or(Ok(()), |steps| positive("max_steps", steps))?;
        let cache_dir = environment.get("CACHE").map_or_else(|| home.join("cache"), PathBuf::from);
        let verbosity = environment.number("VERBOSE")?.unwrap_or_default();
        let format = environment.get("FORMAT").map_or(Ok(AnswerFormat::default()), |name| {
            let names = AnswerFormat::NAMES.join("`, `");
            let wrong = || format!("environment variable `BUB_FORMAT`: `{name}` is none of `{names}`");
            AnswerFormat::parse(name.trim()).with_context(wrong)
        })?;
        let tapes = TapeSettings::new(
            &home,
            file.tape_store.as_deref(),
            file.durability,
            file.lock_wait,
            file.shared_fs,
            file.memory_history_days,
        )?;
        let spill_threshold = environment.number("SPILL_THRESHOLD")?.or(file.spill_threshold);
        let unread = bub::unread(&environment, &home);
        let mut exposed = Vec::new();
        if environment.access == Some(Access::ReadableByOthers) {
            exposed.push(home.join(environment::FILE));
        }
        if file.exposes_keys {
            exposed.push(home.join(file::FILE));
        }
        Ok(Self {
            spill_threshold: spill_threshold.unwrap_or(4096),
            tapes,
            home,
            cache_dir,
            exposed,
            is_trial: false,
            print,
            verbosity,
            format,
            model,
            fallback_models,
            secrets,
            hidden,
            max_steps,
            plugins,
            trusted_plugins: file.trusted_plugins,
            program: own_program()?,
            channels: file.channels,
            trusted_workspaces: file.trusted_workspaces,
            limits: file.limits,
            budget: file.budget,
            policy: file.policy,
            selector: file.selector,
            shadow_selector: file.shadow_selector,
            windows: file.windows,
            context_reserve: file.context_reserve,
            embedding_model: file.embedding_model,
            embedding_scale: file.embedding_scale,
            process: file.process,
            serve,
            pauses: bub::Pauses::read(&environment)?,
            stream_output: environment.flag("STREAM_OUTPUT")?.unwrap_or(true),
            unread,
            tokens: file.tokens,
            quotas: file.quotas,
        })
    }

    /// Creates the home directory with its missing parents, for commands that are about to write there. Commands that
    /// only read do without.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub fn make_home(&self) -> Result<()> {
        // Before anything is put into it: what is made on the way to a file would be open to the group under some umasks.
        make_private_dir(&self.home).with_context(|| format!("the home `{}` cannot be created", self.home.display()))
    }

    /// What is configured for that plugin, or what holds when nothing is.
    pub fn plugin(&self, name: &str) -> Plugin {
        self.plugins.get(name).cloned().unwrap_or_default()
    }

    /// The names of all `[plugins.NAME]`.
    pub fn plugin_tables(&self) -> impl Iterator<Item = &str> {
        self.plugins.keys().map(String::as_str)
    }

    /// What is configured for that channel.
    pub fn channel(&self, name: &str) -> Channel {
        self.channels.get(name).cloned().unwrap_or_default()
    }

    /// Whether others than the owner may use that tool on that channel, if it only reads.
    pub fn lists(&self, channel: &str, tool: &str) -> bool {
        let named = self.channels.get(channel).and_then(|channel| channel.tools.as_ref());
        named.map_or_else(|| OPEN_TOOLS.contains(&tool), |named| named.iter().any(|name| name == tool))
    }

    /// What commands may be on that channel. A command needs no model, so nobody but the terminal's user has them unasked.
    pub fn commands(&self, channel: &str) -> Commands {
        let unset = if channel == "cli" { Commands::All } else { Commands::None };
        self.channel(channel).commands.unwrap_or(unset)
    }

    /// What a caller may take: a sender of that channel, or over HTTP the bearer of a token.
    pub fn quota(&self, principal: Principal, channel: &str, sender: Option<&str>) -> Quota {
        let is_of = |token: &&Token| Some(token.name.as_str()) == sender && token.principal == principal;
        let token = self.tokens.iter().filter(|_| channel == "http").find(is_of);
        token.map(|token| token.quota).unwrap_or_default().or(self.quotas.of(principal))
    }

    /// The channels for which the user names a selector.
    pub fn channels_with_selector(&self) -> impl Iterator<Item = &str> {
        self.channels.iter().filter(|(_, channel)| channel.selector.is_some()).map(|(name, _)| name.as_str())
    }

    /// The plugin that selects on that channel, where the user names one, and whether they name it for that channel alone.
    pub fn selector(&self, channel: &str) -> Option<(&str, bool)> {
        let own = self.channels.get(channel).and_then(|channel| channel.selector.as_deref());
        own.map(|name| (name, true)).or_else(|| Some((self.selector.as_deref()?, false)))
    }

    /// Tokens that a model takes in, where it is known: the user's word before ours.
    pub fn window(&self, model: &str) -> Option<u32> {
        let name = model.split_once(':').map_or(model, |(_, name)| name);
        self.windows.get(model).or_else(|| self.windows.get(name)).copied().or_else(|| bub_model::window(model))
    }

    /// Tokens that a request to the model should stay within: its window less what an answer may take, which is never more
    /// than half of it, and less the reserve.
    pub fn room(&self, model: &str) -> Option<u32> {
        let window = self.window(model)?;
        let answer = u32::try_from(self.model.max_tokens).unwrap_or(u32::MAX).min(window / 2);
        Some(window.saturating_sub(answer).saturating_sub(self.context_reserve.unwrap_or(window / 20)))
    }

    /// Whether the owner has said that what this workspace's files say is as good as their own word.
    pub fn trusts(&self, workspace: &Path) -> bool {
        self.trusted_workspaces.iter().any(|trusted| trusted == workspace)
    }

    /// Where tapes lie that are files, and what goes with them: journals, and what is kept beside archives.
    pub fn tapes_dir(&self) -> PathBuf {
        self.home.join("tapes")
    }

    /// Where what is derived from tapes is kept. Beside them, not with compiled code: that may be shared by several homes.
    pub fn index_dir(&self) -> PathBuf {
        self.home.join("cache/index")
    }

    /// Where what is looked through for questions is kept, a file a workspace: derived from the tapes too.
    pub fn recall_dir(&self) -> PathBuf {
        self.home.join("index")
    }

    /// The same in characters, of which a token has four.
    pub fn spill_chars(&self) -> usize {
        usize::try_from(self.spill_threshold.saturating_mul(4)).unwrap_or(usize::MAX)
    }

    /// Where the configuration stands.
    pub fn file(&self) -> PathBuf {
        self.home.join(file::FILE)
    }

    /// All files of which [`Self::load`] makes a configuration. Any of them may be missing.
    pub fn sources(&self) -> [PathBuf; 3] {
        sources(&self.home)
    }

    /// Warns of files that other users can read and in which a key may stand: of each once in a process.
    pub fn warn_of_exposed(&self) {
        static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        for path in self.exposed.iter().filter(|path| warned.insert((*path).clone())) {
            tracing::warn!("other users can read `{0}`, where keys may stand: `chmod 600 {0}`", path.display());
        }
    }

    /// Warns of what was said to Bub and is not read: once in a process.
    pub fn warn_of_unread(&self) {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| {
            for Unread { name, advice } in &self.unread {
                tracing::warn!("`{name}` is not read: {advice}");
            }
        });
    }

    /// What the program obeys or keeps for itself, wherever it lies: no plugin opens or replaces it.
    pub fn protected_files(&self) -> ProtectedFiles {
        let listed = [self.home.clone(), self.home.join(PLUGINS_DIR)];
        let mut others = vec![self.cache_dir.clone(), self.program.clone()];
        if let TapePlace::Sqlite(path) = &self.tapes.place {
            others.push(path.clone());
        }
        others.extend(self.secrets.files().map(Path::to_owned));
        if let Some(tls) = &self.serve.tls {
            others.extend([self.home.join(&tls.certificate), self.home.join(&tls.key)]);
        }
        ProtectedFiles::find(&listed, &others)
    }

    /// That plugin's limits.
    pub fn limits_of(&self, name: &str) -> Limits {
        let all = Limits::default().with(self.limits);
        self.plugins.get(name).map_or(all, |plugin| all.with(plugin.limits))
    }

    /// The limits of a plugin with these settings.
    pub fn limits_with(&self, settings: &Plugin) -> Limits {
        self.limits().with(settings.limits)
    }

    /// The plugins that are gates, and not switched off.
    pub fn gates(&self) -> impl Iterator<Item = &str> {
        let gates = self.plugins.iter().filter(|(_, plugin)| plugin.enabled && plugin.on_fault == OnFault::Deny);
        gates.map(|(name, _)| name.as_str())
    }

    /// The limits that hold for a turn as a whole.
    pub fn limits(&self) -> Limits {
        Limits::default().with(self.limits)
    }
}

fn sources(home: &Path) -> [PathBuf; 3] {
    [file::FILE, environment::FILE, bub_egress::secret::FILE].map(|name| home.join(name))
}

/// How much is logged: 0 warnings, 1 information, 2 everything. Asked before anything else is read, so that reading can
/// be logged; what is wrong with it is said by [`Config::load`].
pub fn verbosity(home: Option<&Path>) -> u8 {
    let environment = home_dir(home).and_then(|home| Environment::read(&home));
    let number = environment.and_then(|environment| environment.number("VERBOSE")).ok().flatten();
    number.map_or(0, |number| number.min(2) as u8)
}

/// `[plugins]` and `[trusted_plugins]` alone, for those who look at them again while the program runs.
pub fn read_plugins(path: &Path) -> Result<(BTreeMap<String, Plugin>, BTreeMap<String, Trusted>)> {
    let file = File::read(path)?;
    Ok((file.plugins, file.trusted_plugins))
}

/// Where this program is. Where the system knows what runs, that: an update may have put another file in its place, whose
/// compiled code would not fit.
fn own_program() -> Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() {
        Ok(running)
    } else {
        std::env::current_exe().context("this program does not know where it is")
    }
}

fn home_dir(home: Option<&Path>) -> Result<PathBuf> {
    let home = match home {
        Some(home) => home.to_owned(),
        None => match process_environment::get("BUB_HOME").filter(|home| !home.is_empty()) {
            Some(home) => PathBuf::from(home),
            None => std::env::home_dir().context("there is no home directory; set `BUB_HOME`")?.join(".bub"),
        },
    };
    std::path::absolute(&home).with_context(|| format!("`{}` is no path", home.display()))
}
