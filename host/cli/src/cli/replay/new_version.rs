//! What another version of a plugin would have changed in recorded turns: offered by `plugin add`, shown by `plugin upgrade`.

use super::components::Components;
use super::stage::Stages;
use super::with;
use crate::cli::{log, text};
use anyhow::Result;
use bub_config::Config;
use bub_permissions::shell_word;
use bub_recordings::{Listed, RecordingHeader, Store};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Turns that are looked at, at most.
const MAX_OFFERED: usize = 100;

/// Turns that an upgrade makes again, at most: its user waits for them.
const MAX_SHOWN: usize = 20;

/// Offers to try another version of a plugin on the latest recorded turns, if it was called in one of them.
pub(in crate::cli) fn offer(out: &mut impl Write, config: &Config, plugin: &str, file: &str) -> Result<()> {
    let latest = latest(config);
    if latest.iter().any(|recording| has_called(recording, plugin)) {
        let (turns, file) = (latest.len(), shell_word(file));
        writeln!(
            out,
            "what it would have changed in recorded turns: bub-wasm replay --turns {turns} --with {plugin}={file}"
        )?;
    }
    Ok(())
}

/// Makes the latest recorded turns that called the plugin again with another version of it, and shows what would have been
/// otherwise; nothing if no turn that is recorded called it.
pub(in crate::cli) async fn show(
    out: &mut impl Write,
    (config, workspace): (&Config, &Path),
    plugin: &str,
    bytes: &[u8],
) -> Result<()> {
    let mut called = latest(config);
    called.retain(|recording| has_called(recording, plugin));
    called.drain(..called.len().saturating_sub(MAX_SHOWN));
    if called.is_empty() {
        return Ok(());
    }
    let count = text::count(called.len() as u64, "recorded turn", "recorded turns");
    writeln!(out, "the latest {count} with this version:")?;
    let exchanged = BTreeMap::from([(plugin.to_owned(), bytes.to_vec())]);
    let mut stages = Stages::new(config, Components::find(config, workspace), exchanged);
    let hush = log::mute();
    let all = with::replay_all(&mut stages, &called, None).await;
    drop(hush);
    with::print(out, &all)?;
    Ok(())
}

/// The latest recordings, the oldest first.
fn latest(config: &Config) -> Vec<Listed> {
    let mut listed = Store::new(config.recordings_dir()).list(None);
    listed.drain(..listed.len().saturating_sub(MAX_OFFERED));
    listed
}

fn has_called(recording: &Listed, plugin: &str) -> bool {
    let header = RecordingHeader::read(&recording.file);
    header.is_ok_and(|header| header.manifest.calls.iter().any(|call| call.plugin == plugin))
}
