//! A configuration that is read while the program runs with another: what of it has to wait for the next start.

use super::{Config, TapePlace, TapeSettings, TlsFiles};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// A setting that cannot change while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its key, and where it stands.
    key: &'static str,
    /// What it is to be.
    next: String,
    /// What it is until then.
    now: String,
}

impl Display for Waiting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { key, next, now } = self;
        write!(f, "{key} is `{next}` from the next start on; until then it stays `{now}`")
    }
}

impl Config {
    /// The same as it can be taken by a program that runs with `running`, and what has to wait: where the program listens and
    /// with which files it encrypts, how tapes are kept, where compiled code lies, and how much is logged. All of that is open or fixed by now.
    #[must_use]
    pub fn beside(self, running: &Self) -> (Self, Vec<Waiting>) {
        let differs = self.standing().into_iter().zip(running.standing()).filter(|(next, now)| next != now);
        let waiting = differs.map(|((key, next), (_, now))| Waiting { key, next, now }).collect();
        let mut serve = self.serve;
        serve.listen = running.serve.listen;
        serve.tls.clone_from(&running.serve.tls);
        let tapes = running.tapes.clone();
        let cache_dir = running.cache_dir.clone();
        (Self { serve, tapes, cache_dir, verbosity: running.verbosity, ..self }, waiting)
    }

    /// What cannot change while the program runs, as a person would write it.
    fn standing(&self) -> [(&'static str, String); 9] {
        let TapeSettings { place, journal, shared_fs, memory_history_days: _ } = &self.tapes;
        let below = |path: &PathBuf| path.strip_prefix(&self.home).unwrap_or(path).display().to_string();
        let tls = |path: fn(&TlsFiles) -> &PathBuf| {
            self.serve.tls.as_ref().map_or_else(|| "none".to_owned(), |tls| path(tls).display().to_string())
        };
        let place = match place {
            TapePlace::Files => "files".to_owned(),
            TapePlace::Sqlite(path) => format!("sqlite:{}", below(path)),
        };
        [
            ("`serve.listen` of config.toml", self.serve.listen.to_string()),
            ("`serve.tls.certificate` of config.toml", tls(|tls| &tls.certificate)),
            ("`serve.tls.key` of config.toml", tls(|tls| &tls.key)),
            ("`tape_store` of config.toml", place),
            ("`durability` of config.toml", journal.durability.name().to_owned()),
            ("`lock_wait` of config.toml", journal.lock_wait.as_secs_f64().to_string()),
            ("`shared_fs` of config.toml", shared_fs.to_string()),
            ("`BUB_CACHE` of .env", self.cache_dir.display().to_string()),
            ("`BUB_VERBOSE` of .env", self.verbosity.to_string()),
        ]
    }
}
