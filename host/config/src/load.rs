//! Reading the configuration: the files, then the environment, which overrides them.

use super::connection::Connection;
use super::environment::{self, Environment};
use super::file::{self, File, positive};
use super::home_version;
use super::paths::{home_dir, sources};
use super::process::Process;
use super::tapes::{TapeSettings, TapeStorage};
use super::{
    AnswerFormat, Config, DEFAULT_MODEL, Fingerprint, Plugin, PluginStore, TOOL_BUDGET, Trusted, bub, providers,
};
use anyhow::{Context, Result};
use bub_egress::secret::Secrets;
use bub_redact::{Patterns, encodings};
use bub_system::files::{Access, check_directory};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Minimum length of a model's key for redaction, in bytes.
const MIN_SECRET: usize = 12;

impl Config {
    /// Loads the configuration. `home` is the value of `--home`.
    ///
    /// # Errors
    ///
    /// One line that names the file or the variable, and what is wrong with it.
    pub fn load(home: Option<&Path>) -> Result<Self> {
        Self::load_for(home, None)
    }

    /// As [`load`](Self::load), with `model` overriding the configured model.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_for(home: Option<&Path>, model: Option<&str>) -> Result<Self> {
        let home = home_dir(home)?;
        // Taken before anything is read, so that concurrent changes are detected.
        let fingerprint = Fingerprint::of_files(sources(&home));
        check_directory(&home).map_err(anyhow::Error::msg)?;
        home_version::check(&home)?;
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
        // The environment overrides the file, also with a variable of one provider.
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
        file.telemetry.check(model.insecure_http)?;
        file.audit.check(model.insecure_http)?;
        let telemetry = file.telemetry.with_environment(&environment);
        let mut own = bub_model::secrets(&model);
        own.extend(telemetry.secrets().filter(|value| !value.contains("{{secret:")).map(str::to_owned));
        // Short keys are not redacted: a local server's key may be `test`.
        let own = own.iter().filter(|secret| secret.len() >= MIN_SECRET);
        let hidden = Patterns::new(own.flat_map(|secret| encodings(secret.as_bytes())));
        let max_steps = environment.positive("MAX_STEPS")?.or(file.max_steps);
        max_steps.map_or(Ok(()), |steps| positive("max_steps", steps))?;
        let cache_dir = environment.get("CACHE").map_or_else(|| home.join("cache"), PathBuf::from);
        let verbosity = environment.number("VERBOSE")?.unwrap_or_default();
        let mut process = file.process;
        if let Some(name) = environment.get("SANDBOX") {
            let setting = super::process::parse_setting(name);
            process.sandbox = setting.map_err(|error| anyhow::anyhow!("`BUB_SANDBOX`: {error}"))?;
        }
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
            file.lease_seconds,
            file.shared_fs,
            file.memory_history_days,
        )?;
        let is_in_postgres = matches!(tapes.storage, TapeStorage::Postgres(_));
        anyhow::ensure!(
            is_in_postgres || file.plugin_store != Some(PluginStore::Shared),
            "`plugin_store = \"shared\"` of config.toml: plugins are shared through PostgreSQL; set `tape_store = \
             \"postgres://HOST/NAME\"`"
        );
        let spill_threshold = environment.number("SPILL_THRESHOLD")?.or(file.spill_threshold);
        let tool_budget = match environment.number("TOOL_BUDGET")? {
            Some(percent) => Some(u8::try_from(percent).unwrap_or(u8::MAX)),
            None => file.tool_budget,
        };
        let tool_budget = tool_budget.unwrap_or(TOOL_BUDGET);
        anyhow::ensure!(
            tool_budget <= 100,
            "`tool_budget` is a share of the model's context in percent, from 0 to 100, not `{tool_budget}`"
        );
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
            tool_budget,
            tools_always: file.tools_always,
            tapes,
            plugin_store: file.plugin_store,
            database: Connection::default(),
            home,
            cache_dir,
            background_compile: environment.flag("BACKGROUND_COMPILE")?.unwrap_or(true),
            exposed,
            is_trial: false,
            fingerprint,
            verbosity,
            format,
            model,
            fallback_models,
            secrets,
            hidden,
            max_steps,
            plugins,
            trusted_plugins: file.trusted_plugins,
            mcp: file.mcp,
            program: own_program()?,
            channels: file.channels,
            trusted_workspaces: file.trusted_workspaces,
            limits: file.limits,
            budget: file.budget,
            prices: file.prices,
            policy: file.policy,
            selector: file.selector,
            shadow_selector: file.shadow_selector,
            windows: file.windows,
            context_reserve: file.context_reserve,
            embedding_model: file.embedding_model,
            embedding_scale: file.embedding_scale,
            process,
            undo: file.undo,
            audit: file.audit,
            record: file.record,
            recordings: file.recordings,
            serve,
            debounce_defaults: bub::DebounceDefaults::read(&environment)?,
            stream_output: environment.flag("STREAM_OUTPUT")?.unwrap_or(true),
            unread,
            tokens: file.tokens,
            quotas: file.quotas,
            registry: file.registry,
            update: file.update,
            trust: file.trust,
            telemetry,
        })
    }
}

/// The log level: 0 warnings, 1 information, 2 everything. Read first, so that loading can be logged; [`Config::load`]
/// reports its errors.
pub fn verbosity(home: Option<&Path>) -> u8 {
    let environment = home_dir(home).and_then(|home| Environment::read(&home));
    let number = environment.and_then(|environment| environment.number("VERBOSE")).ok().flatten();
    number.map_or(0, |number| number.min(2) as u8)
}

/// Reads `[plugins]` and `[trusted_plugins]` alone, for reloading plugins while the program runs.
pub fn read_plugins(path: &Path) -> Result<(BTreeMap<String, Plugin>, BTreeMap<String, Trusted>)> {
    let file = File::read(path)?;
    Ok((file.plugins, file.trusted_plugins))
}

/// Reads `[process]` alone, for rules that change while the program runs.
///
/// # Errors
///
/// The file cannot be read, or a key of it is wrong.
pub fn read_process(path: &Path) -> Result<Process> {
    let process = File::read(path)?.process;
    process.check()?;
    Ok(process)
}

/// Reads `[trust]` alone, which may change while the program runs.
///
/// # Errors
///
/// The file cannot be read, or a key of it is wrong.
pub fn read_trust(path: &Path) -> Result<bub_registry::Trust> {
    Ok(File::read(path)?.trust)
}

/// Path of the running executable. `/proc/self/exe` is preferred: an update may have replaced the file, and compiled
/// code would not match.
fn own_program() -> Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() {
        Ok(running)
    } else {
        std::env::current_exe().context("the path of this program cannot be found")
    }
}
