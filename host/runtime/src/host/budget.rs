//! What may be spent at models in a day: by all together, and by each plugin.

use bub_config::Config;
use bub_model::usage::{Call, UsageLog};
use bub_types::text::plain;
use bub_types::{Error, ErrorKind};
use std::sync::Arc;

/// The budgets of one home, and the usage log that they are held against.
pub struct Budget {
    /// Shared by all hosts of the process: what was spent stays spent when the configuration changes.
    usage_log: Arc<UsageLog>,
    /// Tokens that all calls of a day may use together; none: no limit.
    limit: Option<u64>,
}

impl Budget {
    /// An empty budget with the limits of `config`.
    pub fn new(config: &Config) -> Self {
        Self { usage_log: Arc::new(UsageLog::new(&config.home)), limit: config.budget.tokens_per_day }
    }

    /// The budgets of another configuration, held against the same usage log.
    pub fn with_config(&self, config: &Config) -> Self {
        Self { usage_log: self.usage_log.clone(), limit: config.budget.tokens_per_day }
    }

    /// Where all calls are written down.
    pub fn usage_log(&self) -> &UsageLog {
        &self.usage_log
    }

    /// Refuses when what may be used in a day is used up: by all calls, or by those of `plugin`, which has a limit of its
    /// own. What one answer costs is known afterwards only, so the last one may go over.
    pub fn check(&self, plugin: &str, own: Option<u64>) -> Result<(), Error> {
        if let Some(limit) = self.limit {
            let used = self.used(None)?;
            if used >= limit {
                return Err(Error::denied(format!(
                    "today's budget is spent: {used} tokens of {limit}; to go on before midnight, raise `tokens_per_day` in `[budget]` of config.toml"
                )));
            }
        }
        if let Some(limit) = own {
            let used = self.used(Some(plugin))?;
            if used >= limit {
                return Err(Error::denied(format!(
                    "plugin `{plugin}` has spent {used} tokens today and may spend {limit}; to change it, set `daily_tokens` in `[plugins.{plugin}]` of config.toml"
                )));
            }
        }
        Ok(())
    }

    /// Refuses when the day's tokens of the caller are used up whose message the turn is about.
    pub fn check_caller(&self, caller: &str, limit: Option<u64>) -> Result<(), Error> {
        let Some(limit) = limit else { return Ok(()) };
        let used = self.used_by(caller)?;
        if used < limit {
            return Ok(());
        }
        Err(Error::denied(format!(
            "`{caller}` has used {used} tokens today and may use {limit}; to change it, set `tokens_per_day` in `[quotas]` of config.toml, or of the token"
        )))
    }

    /// Tokens that were used today for that caller's messages.
    pub fn used_by(&self, caller: &str) -> Result<u64, Error> {
        self.usage_log.used_today_by(caller).map_err(|error| self.unread(&error))
    }

    /// What a model's provider has reported lately, in relation to what is estimated. Where it cannot be read, the estimate
    /// stays as it is.
    pub fn token_calibration(&self, model: &str) -> bub_estimate::Ratio {
        self.usage_log.ratio(model).unwrap_or_default()
    }

    /// Adds what a call used.
    pub fn spend(&self, call: &Call) {
        if let Err(error) = self.usage_log.add(call) {
            let dir = self.usage_log.dir().display();
            let why = plain(&error.to_string());
            tracing::warn!("what model `{}` used is not written down in `{dir}`: {why}", call.model);
        }
    }

    /// A budget that cannot be read is no permission to spend.
    fn used(&self, plugin: Option<&str>) -> Result<u64, Error> {
        self.usage_log.used_today(plugin).map_err(|error| self.unread(&error))
    }

    fn unread(&self, error: &std::io::Error) -> Error {
        let dir = self.usage_log.dir().display();
        let why = plain(&error.to_string());
        Error::new(ErrorKind::Temporary, format!("what was spent today cannot be read in `{dir}`: {why}"))
    }
}
