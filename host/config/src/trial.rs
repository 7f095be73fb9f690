//! A configuration for trying a plugin, without the user's keys, budgets and servers.

use super::connection::Connection;
use super::{
    Audit, Budget, Config, DebounceDefaults, Plugin, PluginRegistry, Prices, Process, Quotas, RecordMode, Serve,
    TapeSettings, Telemetry,
};
use anyhow::Result;
use bub_tape::Durability;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Deadline of a trial turn, in milliseconds.
const TURN_DEADLINE_MS: u64 = 60_000;

/// Steps of the agent loop in a trial turn.
const MAX_STEPS: u64 = 20;

/// The input of a trial configuration.
pub struct TrialConfig {
    /// A temporary home of its own.
    pub home: PathBuf,
    /// A directory without symbolic links in its path; its files are trusted.
    pub workspace: PathBuf,
    /// Settings by plugin; other plugins get the defaults.
    pub plugins: BTreeMap<String, Plugin>,
    /// The model, `provider:model`.
    pub model: String,
    /// The selector plugin.
    pub selector: Option<String>,
}

impl Config {
    /// This configuration without its keys, servers, fallbacks, secrets and budgets, and with the plugins of the trial.
    /// Limits stay, and so does the cache of compiled code.
    ///
    /// # Errors
    ///
    /// The home cannot be read.
    pub fn for_trial(&self, trial: TrialConfig) -> Result<Self> {
        let limited = |plugin: Plugin| Plugin { limits: plugin.limits.with_turn_deadline(TURN_DEADLINE_MS), ..plugin };
        Ok(Self {
            is_trial: true,
            exposed: Vec::new(),
            fingerprint: self.fingerprint.clone(),
            verbosity: self.verbosity,
            format: self.format,
            cache_dir: self.cache_dir.clone(),
            background_compile: false,
            model: bub_model::Settings::new(trial.model),
            fallback_models: Vec::new(),
            secrets: self.secrets.for_trial(&trial.home),
            hidden: self.hidden.clone(),
            max_steps: Some(self.max_steps.map_or(MAX_STEPS, |steps| steps.min(MAX_STEPS))),
            plugins: trial.plugins.into_iter().map(|(name, plugin)| (name, limited(plugin))).collect(),
            trusted_plugins: BTreeMap::new(),
            mcp: BTreeMap::new(),
            program: self.program.clone(),
            channels: BTreeMap::new(),
            trusted_workspaces: vec![trial.workspace],
            limits: self.limits.with_turn_deadline(TURN_DEADLINE_MS),
            spill_threshold: self.spill_threshold,
            tool_budget: self.tool_budget,
            tools_always: self.tools_always.clone(),
            tapes: TapeSettings::new(&trial.home, None, Durability::default(), None, None, false, None)?,
            plugin_store: None,
            database: Connection::default(),
            budget: Budget::default(),
            prices: Prices::default(),
            policy: self.policy.clone(),
            selector: trial.selector,
            shadow_selector: None,
            windows: self.windows.clone(),
            embedding_model: None,
            embedding_scale: None,
            context_reserve: self.context_reserve,
            process: Process::default(),
            undo: self.undo.clone(),
            audit: Audit::default(),
            record: RecordMode::Off,
            recordings: self.recordings.clone(),
            serve: Serve::default(),
            debounce_defaults: DebounceDefaults::default(),
            stream_output: self.stream_output,
            unread: Vec::new(),
            tokens: Vec::new(),
            quotas: Quotas::default(),
            telemetry: Telemetry::default(),
            registry: PluginRegistry::default(),
            update: crate::Update::default(),
            trust: bub_registry::Trust::default(),
            home: trial.home,
        })
    }
}
