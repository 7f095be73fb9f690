//! A configuration for trying a plugin: nothing in it is the user's that could be used up, given away or reached.

use super::{Budget, Config, Pauses, Plugin, Process, Quotas, Serve, TapeSettings};
use anyhow::Result;
use bub_tape::Durability;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How long a turn of a trial may take, in milliseconds.
const TURN: u64 = 60_000;

/// Steps of an agent loop in such a turn.
const STEPS: u64 = 20;

/// What a trial is made of.
pub struct Seclusion {
    /// A home that nobody else has.
    pub home: PathBuf,
    /// A directory without links in its path, whose files taint nothing.
    pub workspace: PathBuf,
    /// What holds of each plugin; of those that are not named, what holds when nothing is said.
    pub plugins: BTreeMap<String, Plugin>,
    /// The model that answers.
    pub model: String,
    /// The plugin that selects.
    pub selector: Option<String>,
}

impl Config {
    /// This configuration without its keys, servers, fallbacks, secrets and budgets, and with the plugins of the trial.
    /// Limits stay, and so does the cache of compiled code.
    ///
    /// # Errors
    ///
    /// The home cannot be read.
    pub fn seclude(&self, trial: Seclusion) -> Result<Self> {
        let hurry = |plugin: Plugin| Plugin { limits: plugin.limits.hurried(TURN), ..plugin };
        Ok(Self {
            is_trial: true,
            exposed: Vec::new(),
            print: self.print.clone(),
            verbosity: self.verbosity,
            format: self.format,
            cache_dir: self.cache_dir.clone(),
            model: bub_model::Settings::new(trial.model),
            fallback_models: Vec::new(),
            secrets: self.secrets.of_trial(&trial.home),
            hidden: self.hidden.clone(),
            max_steps: Some(self.max_steps.map_or(STEPS, |steps| steps.min(STEPS))),
            plugins: trial.plugins.into_iter().map(|(name, plugin)| (name, hurry(plugin))).collect(),
            trusted_plugins: BTreeMap::new(),
            program: self.program.clone(),
            channels: BTreeMap::new(),
            trusted_workspaces: vec![trial.workspace],
            limits: self.limits.hurried(TURN),
            spill_threshold: self.spill_threshold,
            tapes: TapeSettings::new(&trial.home, None, Durability::default(), None, false, None)?,
            budget: Budget::default(),
            policy: self.policy.clone(),
            selector: trial.selector,
            shadow_selector: None,
            windows: self.windows.clone(),
            embedding_model: None,
            embedding_scale: None,
            context_reserve: self.context_reserve,
            process: Process::default(),
            serve: Serve::default(),
            pauses: Pauses::default(),
            stream_output: self.stream_output,
            unread: Vec::new(),
            tokens: Vec::new(),
            quotas: Quotas::default(),
            home: trial.home,
        })
    }
}
