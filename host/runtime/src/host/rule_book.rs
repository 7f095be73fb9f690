//! The user's rules for commands, and for hosts that programs reach.
//! Rules are stored in config.toml, which is read again while the program runs, so that a rule that is removed does not
//! hold for the next call.

use anyhow::Result;
use bub_config::{Config, Process, edit};
use bub_permissions::policy::KeptRule;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often the file is checked at most.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The rules of `[process]`.
pub struct RuleBook {
    file: PathBuf,
    seen: Mutex<Seen>,
}

/// The file as it was when it was read last.
struct Seen {
    at: Instant,
    stamp: Option<(SystemTime, u64)>,
    process: Arc<Process>,
}

impl RuleBook {
    /// The rules of that configuration.
    pub fn new(config: &Config) -> Self {
        let file = config.file();
        let process = Arc::new(config.process.clone());
        let seen = Mutex::new(Seen { at: Instant::now(), stamp: stamp(&file), process });
        Self { file, seen }
    }

    /// `[process]` with the rules that are in force at this moment.
    pub fn process(&self) -> Arc<Process> {
        let mut seen = self.seen.lock();
        if seen.at.elapsed() >= CHECK_INTERVAL {
            self.reload(&mut seen);
        }
        seen.process.clone()
    }

    /// Adds rules to config.toml. They are in force afterwards.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn keep(&self, rules: &[KeptRule]) -> Result<()> {
        let mut seen = self.seen.lock();
        edit::edit(&self.file, |document| {
            rules.iter().try_for_each(|rule| match rule {
                KeptRule::Command(rule) => edit::add_rule(document, rule),
                KeptRule::Host(host) => edit::allow_host(document, host),
            })
        })?;
        self.reload(&mut seen);
        Ok(())
    }

    fn reload(&self, seen: &mut Seen) {
        seen.at = Instant::now();
        let stamp = stamp(&self.file);
        if stamp == seen.stamp {
            return;
        }
        seen.stamp = stamp;
        match bub_config::read_process(&self.file) {
            Ok(process) => seen.process = Arc::new(process),
            // A file that is being written, or that was written wrongly, changes nothing.
            Err(error) => tracing::debug!("the rules of `[process]` stay as they were: {error:#}"),
        }
    }
}

fn stamp(file: &PathBuf) -> Option<(SystemTime, u64)> {
    let meta = std::fs::metadata(file).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}
