//! Merging a reloaded configuration into the running one: some settings take effect only at the next start.

use super::{Config, TapeSettings, TapeStorage, TlsFiles};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// A changed setting that takes effect only at the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartRequired {
    /// Its key and its file.
    key: &'static str,
    /// The value from the next start on.
    next: String,
    /// The value until then.
    now: String,
}

impl Display for RestartRequired {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { key, next, now } = self;
        write!(f, "{key} is `{next}` from the next start on; until then it stays `{now}`")
    }
}

impl Config {
    /// This configuration with those settings of `running` that cannot change in a running process, and one
    /// [`RestartRequired`] for each of them that differs: the listening address, TLS files, tape storage, the chain
    /// of entries, the cache directory, the log level and the export of telemetry.
    #[must_use]
    pub fn merge_reload(self, running: &Self) -> (Self, Vec<RestartRequired>) {
        let differs =
            self.restart_settings().into_iter().zip(running.restart_settings()).filter(|(next, now)| next != now);
        let waiting = differs.map(|((key, next), (_, now))| RestartRequired { key, next, now }).collect();
        let mut serve = self.serve;
        serve.listen = running.serve.listen;
        serve.tls.clone_from(&running.serve.tls);
        let tapes = running.tapes.clone();
        let cache_dir = running.cache_dir.clone();
        // What spans hold is looked up by the turn that makes them.
        let mut telemetry = running.telemetry.clone();
        telemetry.content = self.telemetry.content;
        telemetry.propagate_to_plugins = self.telemetry.propagate_to_plugins;
        let mut audit = self.audit.clone();
        audit.chain = running.audit.chain;
        (Self { serve, tapes, cache_dir, verbosity: running.verbosity, telemetry, audit, ..self }, waiting)
    }

    /// The settings that need a restart, with their values as a user writes them.
    fn restart_settings(&self) -> [(&'static str, String); 13] {
        let TapeSettings { storage, journal, lease, shared_fs, memory_history_days: _ } = &self.tapes;
        let below = |path: &PathBuf| path.strip_prefix(&self.home).unwrap_or(path).display().to_string();
        let tls = |path: fn(&TlsFiles) -> &PathBuf| {
            self.serve.tls.as_ref().map_or_else(|| "none".to_owned(), |tls| path(tls).display().to_string())
        };
        let storage = match storage {
            TapeStorage::Files => "files".to_owned(),
            TapeStorage::Sqlite(path) => format!("sqlite:{}", below(path)),
            TapeStorage::Postgres(address) => address.clone(),
        };
        [
            ("`serve.listen` of config.toml", self.serve.listen.to_string()),
            ("`serve.tls.certificate` of config.toml", tls(|tls| &tls.certificate)),
            ("`serve.tls.key` of config.toml", tls(|tls| &tls.key)),
            ("`tape_store` of config.toml", storage),
            ("`durability` of config.toml", journal.durability.name().to_owned()),
            ("`lock_wait` of config.toml", journal.lock_wait.as_secs_f64().to_string()),
            ("`lease_seconds` of config.toml", lease.as_secs_f64().to_string()),
            ("`shared_fs` of config.toml", shared_fs.to_string()),
            ("`audit.chain` of config.toml", self.chains_entries().to_string()),
            ("`telemetry.endpoint`", self.telemetry.endpoint.clone().unwrap_or_else(|| "none".to_owned())),
            ("`telemetry.sampler`", self.telemetry.sampler.clone()),
            ("`BUB_CACHE` of .env", self.cache_dir.display().to_string()),
            ("`BUB_VERBOSE` of .env", self.verbosity.to_string()),
        ]
    }
}
