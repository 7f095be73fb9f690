//! What confines the programs of plugins.

use bub_config::Config;
use bub_permissions::policy::run_later::{PATTERNS, RunsLater};
use bub_sandbox::{Private, Sandbox, Setting};
use bub_types::text::one_line;
use parking_lot::Mutex;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The sandbox of this machine, found at the first program, and the private directories of sessions.
#[derive(Default)]
pub struct Sandboxes {
    found: Mutex<Option<(Setting, Arc<Sandbox>)>>,
    /// Directories that programs have as `/tmp` and as their home.
    pub private: Private,
}

impl Sandboxes {
    /// What this machine confines programs with under that configuration.
    pub fn find(&self, config: &Config) -> Arc<Sandbox> {
        let setting = config.process.sandbox;
        // Held throughout, so that it is found once.
        let mut found = self.found.lock();
        if let Some((known, sandbox)) = found.as_ref()
            && *known == setting
        {
            return Arc::clone(sandbox);
        }
        let sandbox = Arc::new(Sandbox::find(setting, &config.program, Some(&config.cache_dir)));
        *found = Some((setting, Arc::clone(&sandbox)));
        sandbox
    }

    /// Removes what would be left behind.
    pub(super) fn close(&self) {
        self.private.clear();
        // A control group is not empty while the thread that starts programs is in it.
        bub_system::process::end_starter();
        *self.found.lock() = None;
    }
}

/// Entries of the top of a workspace that are looked at for files that run later.
const MAX_ENTRIES: usize = 4096;

/// What is written by programs all the time although it runs later: git's own directory, whose parts are told apart, and
/// the cache of yarn.
const WRITTEN: [&str; 2] = [".git", ".yarn"];

/// Reasons that are kept.
const MAX_REASONS: usize = 8;

/// Why programs of a plugin do not reach what they try to reach.
#[derive(Clone)]
pub enum Unreached {
    /// They have no network, for that reason.
    Offline(String),
    /// The proxy has refused hosts, for these reasons.
    Refused(Arc<Mutex<Vec<String>>>),
    /// Nothing is refused here.
    Nothing,
}

impl Unreached {
    /// Keeps a reason.
    pub fn refused(&self, why: &str) {
        if let Self::Refused(reasons) = self {
            let mut reasons = reasons.lock();
            if reasons.len() < MAX_REASONS && !reasons.iter().any(|known| known == why) {
                reasons.push(why.to_owned());
            }
        }
    }

    /// The reasons since the last call.
    pub fn take(&self) -> Vec<String> {
        match self {
            Self::Refused(reasons) => std::mem::take(&mut *reasons.lock()),
            Self::Offline(_) | Self::Nothing => Vec::new(),
        }
    }
}

/// What is known of a program's sandbox when it has ended.
#[derive(Clone)]
pub struct Confined {
    /// Why it did not reach what it tried to reach.
    pub unreached: Unreached,
    workspace: PathBuf,
    rules: RunsLater,
    /// Files of the workspace that run later, as they were.
    before: Vec<PathBuf>,
}

impl Confined {
    /// A program that is about to start in that workspace, which has the files `before` that run later.
    pub fn new(unreached: Unreached, workspace: PathBuf, rules: RunsLater, before: Vec<PathBuf>) -> Self {
        Self { unreached, workspace, rules, before }
    }

    /// Files that run later and were not there before, by their paths in the workspace.
    pub fn new_files(&self) -> Vec<String> {
        let now = runs_later(&self.workspace, &self.rules);
        let new = now.into_iter().filter(|path| !self.before.contains(path));
        new.map(|path| one_line(&path.strip_prefix(&self.workspace).unwrap_or(&path).to_string_lossy())).collect()
    }
}

/// Files and directories of the workspace that run later, outside of the sandbox: those at its top, and those of the
/// built-in patterns that lie deeper.
pub fn runs_later(workspace: &Path, rules: &RunsLater) -> Vec<PathBuf> {
    let is_written = |name: &OsStr| WRITTEN.iter().any(|written| name == *written);
    let entries = fs::read_dir(workspace).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let names = entries.map(|entry| entry.file_name()).filter(|name| !is_written(name));
    let names = names.filter(|name| rules.holds(Path::new(name)));
    let mut all: Vec<PathBuf> = names.map(|name| workspace.join(name)).collect();
    let patterns = PATTERNS.iter().flat_map(|(_, patterns)| *patterns);
    let deeper = patterns.filter(|pattern| pattern.contains('/') && !pattern.contains('*'));
    all.extend(deeper.map(|pattern| workspace.join(pattern)).filter(|path| path.exists()));
    all.sort();
    all
}
