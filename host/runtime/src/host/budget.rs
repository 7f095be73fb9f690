//! The daily budgets of model calls: of all together, of each plugin, and for each caller.

mod shared;
mod unsettled;
mod usage;

use bub_config::Config;
use bub_model::usage::Call;
use bub_postgres::{Database, Refusal, Scope};
use bub_types::text::plain;
use bub_types::{Error, ErrorKind};
use shared::{Reservation, Reserved};
use std::sync::Arc;
use std::time::Duration;
pub use usage::Usage;

/// How long the end of a process waits for the database.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(15);

/// The budgets of one home, and the usage that they are held against.
pub struct Budget {
    /// Shared by all hosts of the process: what was spent stays spent when the configuration changes.
    usage: Arc<Usage>,
    /// Tokens that all calls of a day may use together; none: no limit.
    limit: Option<u64>,
}

/// A model call that is about to be made, and the limits that it is held against.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// The plugin that calls.
    pub plugin: &'a str,
    /// The tokens that the plugin may use in a day.
    pub own: Option<u64>,
    /// The account of the caller whose message the turn is about.
    pub caller: &'a str,
    /// The tokens that may be used for that caller in a day.
    pub quota: Option<u64>,
}

/// The permission for a model call. Dropped, it releases what was reserved for the call.
#[must_use = "what was reserved is released when this is dropped"]
pub struct Allowance(Option<Reservation>);

/// Why a model call is refused.
#[derive(Debug)]
pub struct Refused {
    /// The reason.
    pub error: Error,
    /// Whether it is the caller's quota.
    pub is_quota: bool,
}

/// A limit of a day.
#[derive(Debug, Clone, Copy)]
enum Limit<'a> {
    All,
    Plugin(&'a str),
    Caller(&'a str),
}

impl Budget {
    /// The limits of `config`, held against the usage log of the home, or against the database that several workers share.
    pub async fn new(config: &Config, database: Option<Database>) -> Result<Self, bub_tape::Error> {
        let usage = Usage::new(&config.home, database).await?;
        Ok(Self { usage: Arc::new(usage), limit: config.budget.tokens_per_day })
    }

    /// The budgets of another configuration, held against the same usage.
    pub fn with_config(&self, config: &Config) -> Self {
        Self { usage: self.usage.clone(), limit: config.budget.tokens_per_day }
    }

    /// Where all calls are written down.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Refuses a call when what may be used in a day is used up: by all calls, by those of the plugin, or by those for the
    /// caller. With files the last call may go over, since what an answer costs is known afterwards only. In a database
    /// `tokens`, which is what the call may use, are reserved until [`Self::settle`].
    ///
    /// # Errors
    ///
    /// Why not. A budget that cannot be read is no permission to spend.
    pub async fn admit(&self, demand: Demand<'_>, tokens: impl FnOnce() -> u64) -> Result<Allowance, Refused> {
        let Demand { plugin, own, caller, quota } = demand;
        let limits = [(Limit::All, self.limit), (Limit::Plugin(plugin), own), (Limit::Caller(caller), quota)];
        let limits: Vec<(Limit<'_>, u64)> = limits.into_iter().filter_map(|(limit, cap)| Some((limit, cap?))).collect();
        match &*self.usage {
            Usage::Home(_) => {
                for (limit, cap) in limits {
                    let used = self.used(limit).await.map_err(|error| limit.refused(error))?;
                    if used >= cap {
                        return Err(limit.refused(limit.spent(used, cap)));
                    }
                }
                Ok(Allowance(None))
            }
            Usage::Shared(_) if limits.is_empty() => Ok(Allowance(None)),
            Usage::Shared(shared) => {
                let tokens = tokens();
                let scopes: Vec<(Scope<'_>, u64)> = limits.iter().map(|(limit, cap)| (limit.scope(), *cap)).collect();
                let refused = match shared.reserve(tokens, &scopes).await {
                    Ok(Reserved::Done(reservation)) => return Ok(Allowance(Some(reservation))),
                    Ok(Reserved::Refused(refused)) => refused,
                    Err(error) => return Err(Refused { error: unread(&error), is_quota: false }),
                };
                let (limit, cap) = limits.get(refused.place).copied().unwrap_or((Limit::All, 0));
                Err(limit.refused(limit.full(refused, cap, tokens)))
            }
        }
    }

    /// Adds what an admitted call used; `None`: nothing. In a database this happens behind the answer.
    pub fn settle(&self, allowance: Allowance, call: Option<&Call>) {
        match (&*self.usage, call) {
            (Usage::Home(log), Some(call)) => {
                if let Err(error) = log.add(call) {
                    let dir = log.dir().display();
                    let why = plain(&error.to_string());
                    tracing::warn!("what model `{}` used is not written down in `{dir}`: {why}", call.model);
                }
            }
            (Usage::Shared(shared), Some(call)) => shared.settle(allowance.0, call),
            // The reservation is released.
            (_, None) => drop(allowance),
        }
    }

    /// Tokens that were used today for that caller's messages.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub async fn used_by(&self, caller: &str) -> Result<u64, Error> {
        self.used(Limit::Caller(caller)).await
    }

    /// The ratio of reported to estimated tokens of a model, from the latest reports of its provider. Where it cannot
    /// be read, the estimate stays as it is.
    pub fn token_calibration(&self, model: &str) -> bub_estimate::Ratio {
        match &*self.usage {
            Usage::Home(log) => log.ratio(model).unwrap_or_default(),
            Usage::Shared(shared) => shared.ratio(model),
        }
    }

    /// Waits until all calls are written down, in the database or in files that are sent there later.
    pub async fn flush(&self) {
        if let Usage::Shared(shared) = &*self.usage {
            shared.flush_or_keep(FLUSH_TIMEOUT).await;
        }
    }

    async fn used(&self, limit: Limit<'_>) -> Result<u64, Error> {
        match &*self.usage {
            Usage::Home(log) => {
                let used = match limit {
                    Limit::All => log.used_today(None),
                    Limit::Plugin(name) => log.used_today(Some(name)),
                    Limit::Caller(name) => log.used_today_by(name),
                };
                used.map_err(|error| {
                    let dir = log.dir().display();
                    let why = plain(&error.to_string());
                    let text = format!("what was spent today cannot be read in `{dir}`: {why}");
                    Error::new(ErrorKind::Temporary, text)
                })
            }
            Usage::Shared(shared) => shared.used(limit.scope()).await.map_err(|error| unread(&error)),
        }
    }
}

fn unread(error: &bub_tape::Error) -> Error {
    Error::new(ErrorKind::Temporary, plain(&error.to_string()))
}

impl<'a> Limit<'a> {
    fn scope(self) -> Scope<'a> {
        match self {
            Self::All => Scope::All,
            Self::Plugin(name) => Scope::Plugin(name),
            Self::Caller(name) => Scope::Caller(name),
        }
    }

    fn refused(self, error: Error) -> Refused {
        let is_quota = matches!(self, Self::Caller(_)) && error.kind == ErrorKind::Denied;
        Refused { error, is_quota }
    }

    /// The setting that raises it.
    fn setting(self) -> String {
        match self {
            Self::All => "`tokens_per_day` in `[budget]` of config.toml".to_owned(),
            Self::Plugin(name) => format!("`daily_tokens` in `[plugins.{name}]` of config.toml"),
            Self::Caller(_) => "`tokens_per_day` in `[quotas]` of config.toml, or of the token".to_owned(),
        }
    }

    fn spent(self, used: u64, limit: u64) -> Error {
        let setting = self.setting();
        Error::denied(match self {
            Self::All => {
                format!("today's budget is spent: {used} tokens of {limit}; to go on before midnight, raise {setting}")
            }
            Self::Plugin(name) => format!(
                "plugin `{name}` has spent {used} tokens today and may spend {limit}; to change it, set {setting}"
            ),
            Self::Caller(caller) => {
                format!("`{caller}` has used {used} tokens today and may use {limit}; to change it, set {setting}")
            }
        })
    }

    /// There is no room for a call that may use `tokens`.
    fn full(self, Refusal { used, reserved, .. }: Refusal, limit: u64, tokens: u64) -> Error {
        if used >= limit {
            return self.spent(used, limit);
        }
        let (whose, setting) = (self.whose(), self.setting());
        let left = limit.saturating_sub(used);
        if tokens > left {
            return Error::denied(format!(
                "{whose} has {left} tokens of {limit} left today, and this call may use {tokens}; to go on, lower \
                 `max_tokens`, or raise {setting}"
            ));
        }
        let text = format!(
            "{whose} has {left} tokens of {limit} left today, of which calls under way have reserved {reserved}, and this \
             call may use {tokens}; try again when they have ended, or raise {setting}"
        );
        Error::new(ErrorKind::Temporary, text)
    }

    fn whose(self) -> String {
        match self {
            Self::All => "the budget".to_owned(),
            Self::Plugin(name) => format!("plugin `{name}`"),
            Self::Caller(caller) => format!("`{caller}`"),
        }
    }
}
