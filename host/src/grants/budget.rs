//! What plugins have spent at the model today, UTC: kept in a file, so that a plugin that is asked in many short runs
//! has one budget.

use crate::plugin::bindings::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The account of one home.
pub(crate) struct Budget {
    file: PathBuf,
}

/// A day's spending, in tokens.
#[derive(Default, Serialize, Deserialize)]
struct Day {
    date: String,
    tokens: BTreeMap<String, u64>,
}

impl Budget {
    pub(crate) fn new(home: &Path) -> Self {
        Self { file: home.join("spent.json") }
    }

    /// Refuses when the plugin has spent what it may spend in a day. What one answer costs is known afterwards only, so
    /// the last one may go over.
    pub(crate) fn check(&self, plugin: &str, limit: Option<u64>) -> Result<(), Error> {
        let Some(limit) = limit else { return Ok(()) };
        let spent = fs::read(&self.file).map(|bytes| today(&bytes)).unwrap_or_default();
        match spent.tokens.get(plugin) {
            Some(spent) if *spent >= limit => Err(Error::denied(format!(
                "plugin `{plugin}` has spent {spent} tokens today and may spend {limit}; to change it, set `daily_tokens` in `[plugins.{plugin}]` of config.toml"
            ))),
            _ => Ok(()),
        }
    }

    /// Adds what an answer cost.
    pub(crate) fn spend(&self, plugin: &str, tokens: u64) {
        if let Err(error) = self.add(plugin, tokens) {
            tracing::warn!("what plugin `{plugin}` spent is not written down: {error}");
        }
    }

    fn add(&self, plugin: &str, tokens: u64) -> std::io::Result<()> {
        let mut file: File =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.file)?;
        // Two processes spend out of one account.
        file.lock()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut day = today(&bytes);
        let spent = day.tokens.entry(plugin.to_owned()).or_default();
        *spent = spent.saturating_add(tokens);
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&day)?)
    }
}

/// The account as it stands in the file, or an empty one on a new day.
fn today(bytes: &[u8]) -> Day {
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let day: Day = serde_json::from_slice(bytes).unwrap_or_default();
    if day.date == date { day } else { Day { date, tokens: BTreeMap::new() } }
}
