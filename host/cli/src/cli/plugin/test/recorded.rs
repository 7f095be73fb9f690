//! Makes recorded calls again, in a sandbox in which the recording answers all that the plugin asks of the host.

use super::super::check::sandbox::{Sandbox, Subject, inside};
use super::super::fixtures;
use super::super::project::Project;
use anyhow::{Result, anyhow};
use bub_config::Config;
use bub_runtime::hooks::{Replay, replay_call};
use bub_runtime::plugin::Plugin;
use bub_runtime::plugin::recording::{Playback, RecordedCall};
use bub_runtime::turn::{CallScope, TurnSnapshot};
use bub_types::hook::Hook;
use bub_types::text::one_line;
use serde_json::Value;
use std::path::Path;

/// The outcome of a recorded call.
pub(super) enum Outcome {
    Same,
    /// It differed, and its file says so now.
    Updated,
    Differs {
        before: String,
        after: String,
    },
    Wrong(String),
}

/// Makes all calls of the project's folder, with the names of their files.
///
/// # Errors
///
/// The folder cannot be read.
pub(super) async fn run(
    project: &Project,
    bytes: &[u8],
    plugin: &Plugin,
    config: &Config,
    update: bool,
) -> Result<Vec<(String, Outcome)>> {
    let mut outcomes = Vec::new();
    let mut sandbox = None;
    for file in fixtures::list(&project.fixtures())? {
        let shown = one_line(&file.strip_prefix(&project.dir).unwrap_or(&file).display().to_string());
        let outcome = match fixtures::read(&file, &project.name) {
            Ok(call) => {
                let started = started(sandbox.take(), call.config.clone(), bytes, plugin, config).await;
                match started {
                    Ok(started) => {
                        let outcome = play(&started, &call, &file, update).await;
                        sandbox = Some(started);
                        outcome
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        let wrong = |error: anyhow::Error| Outcome::Wrong(one_line(&format!("{error:#}")));
        outcomes.push((shown, outcome.unwrap_or_else(wrong)));
    }
    if let Some((_, sandbox)) = sandbox {
        sandbox.host.close().await;
    }
    Ok(outcomes)
}

type Table = serde_json::Map<String, Value>;

/// The same sandbox where the configuration is the same, and otherwise another one.
async fn started(
    before: Option<(Table, Sandbox)>,
    table: Table,
    bytes: &[u8],
    plugin: &Plugin,
    config: &Config,
) -> Result<(Table, Sandbox)> {
    if let Some(before) = before {
        if before.0 == table {
            return Ok(before);
        }
        before.1.host.close().await;
    }
    let mut settings = bub_config::Plugin::default();
    settings.config.clone_from(&table);
    let wanted = plugin.wanted();
    let subject = Subject {
        name: &plugin.name,
        bytes: Some(bytes),
        settings,
        grants: inside(&wanted, plugin.provider.as_deref()),
        provider: plugin.provider.as_deref(),
        selects: plugin.implements(Hook::Selector),
        is_alone: true,
    };
    Ok((table, Sandbox::start(config, subject).await?))
}

async fn play((_, sandbox): &(Table, Sandbox), call: &RecordedCall, file: &Path, update: bool) -> Result<Outcome> {
    let turn = match &call.turn {
        Value::Null => None,
        turn => {
            let snapshot = serde_json::from_value::<TurnSnapshot>(turn.clone());
            Some(snapshot.map_err(|error| anyhow!("its `turn` is not understood: {error}"))?)
        }
    };
    let playback = Playback::new(call);
    sandbox.host.recordings.play(playback.clone());
    let again = Replay { plugin: &sandbox.plugin, hook: &call.call, arguments: call.arguments.clone(), turn };
    replay_call(&CallScope::new(&sandbox.host), again).await.map_err(|reason| anyhow!(reason))?;
    let Some(mut played) = playback.played() else {
        let call = &call.call;
        return Ok(Outcome::Wrong(format!(
            "`{call}` was not called: this build does not export it, or does not request its grant"
        )));
    };
    // The arguments of the call.
    played.arguments.clone_from(&call.arguments);
    (played.config, played.turn) = (call.config.clone(), call.turn.clone());
    let (before, after) = (fixtures::outcome(call), fixtures::outcome(&played));
    if before == after {
        return Ok(Outcome::Same);
    }
    if update {
        // Secrets were replaced when it was recorded.
        fixtures::write(file, &fixtures::text(&played, str::to_owned))?;
        return Ok(Outcome::Updated);
    }
    Ok(Outcome::Differs { before, after })
}
