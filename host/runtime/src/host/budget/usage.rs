//! Where model calls are written down: in files of the home, or in the database of its tapes.

use super::shared::SharedUsage;
use anyhow::Result;
use bub_config::Config;
use bub_model::usage::{Report, Session, UsageLog, report};
use bub_postgres::{Database, Scope};
use bub_types::text::plain;
use std::path::Path;
use std::sync::Arc;

/// The model calls of a home.
#[derive(Clone)]
pub enum Usage {
    /// Files of the home.
    Home(Arc<UsageLog>),
    /// A database that several workers share.
    Shared(SharedUsage),
}

impl Usage {
    /// The calls of that home, without a host.
    ///
    /// # Errors
    ///
    /// The database cannot be reached.
    pub async fn open(config: &Config) -> Result<Self> {
        Ok(Self::new(&config.home, config.connect().await?).await?)
    }

    pub(super) async fn new(home: &Path, database: Option<Database>) -> Result<Self, bub_tape::Error> {
        Ok(match database {
            None => Self::Home(Arc::new(UsageLog::new(home))),
            Some(database) => Self::Shared(SharedUsage::start(home, database).await?),
        })
    }

    /// Where the calls are, as a user would look for them.
    pub fn place(&self) -> String {
        match self {
            Self::Home(log) => log.dir().display().to_string(),
            Self::Shared(shared) => shared.name().to_owned(),
        }
    }

    /// Tokens that all calls have used today.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub async fn used_today(&self) -> Result<u64, String> {
        match self {
            Self::Home(log) => log.used_today(None).map_err(|error| plain(&error.to_string())),
            Self::Shared(shared) => shared.used(Scope::All).await.map_err(|error| plain(&error.to_string())),
        }
    }

    /// The usage of the last `days` days including today, optionally of one session. Without `by_session` a shared log does
    /// not tell sessions apart, which costs less.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub async fn report(&self, days: u32, of: Option<Session>, by_session: bool) -> Result<Report, String> {
        match self {
            Self::Home(log) => {
                let log = log.clone();
                let read = tokio::task::spawn_blocking(move || report(&log, days, of.as_ref())).await;
                read.map_err(std::io::Error::other).flatten().map_err(|error| plain(&error.to_string()))
            }
            Self::Shared(shared) => {
                let report = shared.report(days, of.as_ref(), by_session).await;
                report.map_err(|error| plain(&error.to_string()))
            }
        }
    }
}
