//! The user's rules for commands, and for hosts that programs reach.
//! Rules are stored in config.toml, which is read again while the program runs, so that a rule that is removed does not
//! hold for the next call.

use anyhow::Result;
use bub_config::{Config, Process, edit};
use bub_permissions::policy::KeptRule;
use bub_system::files::WatchedFile;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How often the file is checked at most.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The rules of `[process]`.
pub struct RuleBook {
    seen: Mutex<Seen>,
}

/// The file as it was when it was read last.
struct Seen {
    file: WatchedFile,
    process: Arc<Process>,
}

impl RuleBook {
    /// The rules of that configuration.
    pub fn new(config: &Config) -> Self {
        let file = WatchedFile::new(config.file(), CHECK_INTERVAL);
        let seen = Seen { file, process: Arc::new(config.process.clone()) };
        Self { seen: Mutex::new(seen) }
    }

    /// `[process]` with the rules that are in force at this moment.
    pub fn process(&self) -> Arc<Process> {
        let mut seen = self.seen.lock();
        if seen.file.is_due() {
            seen.reload();
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
        edit::edit(seen.file.path(), |document| {
            rules.iter().try_for_each(|rule| match rule {
                KeptRule::Command(rule) => edit::add_rule(document, rule),
                KeptRule::Host(host) => edit::allow_host(document, host),
            })
        })?;
        seen.reload();
        Ok(())
    }
}

impl Seen {
    fn reload(&mut self) {
        if !self.file.has_changed() {
            return;
        }
        match bub_config::read_process(self.file.path()) {
            Ok(process) => self.process = Arc::new(process),
            // A file that is being written, or that was written wrongly, changes nothing.
            Err(error) => tracing::debug!("the rules of `[process]` stay as they were: {error:#}"),
        }
    }
}
