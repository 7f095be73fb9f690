//! What a turn changes in its workspace: kept before the first change, and recorded at the end, so that it can be undone.
//!
//! A turn and the turns inside it have one record.

use super::data::Turn;
use crate::host::Host;
use crate::plugin::{MCP_GUEST, Plugin, Source, Tool};
use bub_config::Config;
use bub_permissions::{Grant, GrantKind};
use bub_types::Effect;
use bub_undo::{Change, Label, Limits, Origin, Snapshot, Undo};
use std::path::Path;
use std::time::Duration;

/// Files of one turn that have a receipt each.
const MAX_RECEIPTS: usize = 256;

/// The workspace as it was before the turn changed it.
#[derive(Default)]
pub(super) enum WorkspaceBefore {
    /// Nothing was about to change it so far.
    #[default]
    Unneeded,
    Kept(Box<Snapshot>),
    /// It is not kept: it cannot be, or the user does not want it.
    Missing,
}

/// The snapshots of a workspace; `None`: the user wants none. `workspace` is absolute and without links.
pub fn undo(config: &Config, workspace: &Path) -> Option<Undo> {
    let settings = &config.undo;
    let limits = Limits {
        max_bytes: settings.max_bytes,
        max_file: settings.max_file_bytes,
        max_files: usize::try_from(settings.max_files).unwrap_or(usize::MAX),
        max_age: Duration::from_secs(settings.days.saturating_mul(24 * 3600)),
        ignored: settings.ignored,
        ..Limits::default()
    };
    let home = config.home.canonicalize().unwrap_or_else(|_| config.home.clone());
    (settings.enabled && !config.is_trial).then(|| Undo::new(&home, workspace, limits))
}

/// Whether a tool of the plugin may change a file of the workspace.
fn may_change_files(host: &Host, plugin: &Plugin) -> bool {
    let writes = |grant: &Grant| grant.directory().is_some_and(|(_, writes)| writes);
    host.grants.held(plugin, GrantKind::Fs).iter().any(writes)
        || host.grants.starts_programs(plugin)
        || (plugin.source == Source::Embedded && plugin.name == MCP_GUEST)
}

impl Turn {
    /// Keeps the workspace, if the call of that tool is the first of the turn that may change it. The call is made whether
    /// or not it could be kept.
    pub(crate) async fn keep_workspace(&self, plugin: &Plugin, tool: &Tool) {
        let host = &self.scope.host;
        let may_change = matches!(tool.effect, Effect::Write | Effect::Run) && may_change_files(host, plugin);
        if !may_change || self.is_preview() {
            return;
        }
        let outermost = self.outermost();
        let mut before = outermost.workspace_before.lock().await;
        if !matches!(*before, WorkspaceBefore::Unneeded) {
            return;
        }
        *before = WorkspaceBefore::Missing;
        let Some(undo) = undo(&host.config, &outermost.workspace) else { return };
        let label = Label { origin: Origin::Turn, session: outermost.session_id.clone() };
        match tokio::task::spawn_blocking(move || undo.begin(label)).await {
            Ok(Ok(snapshot)) => *before = WorkspaceBefore::Kept(Box::new(snapshot)),
            Ok(Err(error)) => tracing::warn!("what this turn changes cannot be undone: {error:#}"),
            Err(error) => tracing::warn!("what this turn changes cannot be undone: {error}"),
        }
    }

    /// Records what the turn has changed.
    pub(super) async fn record_changes(&self) {
        let before = std::mem::take(&mut *self.workspace_before.lock().await);
        let WorkspaceBefore::Kept(snapshot) = before else { return };
        let Some(undo) = undo(&self.scope.host.config, &self.workspace) else { return };
        let finish = move || {
            let record = undo.finish(*snapshot)?;
            let changes = record.map_or_else(Vec::new, |record| record.changes);
            let digests = |change: &Change| (change.path.to_text(), undo.digests(change));
            anyhow::Ok((changes.len(), changes.iter().take(MAX_RECEIPTS).map(digests).collect::<Vec<_>>()))
        };
        match tokio::task::spawn_blocking(finish).await {
            Ok(Ok((count, changes))) => {
                for (path, [before, after]) in changes {
                    self.receipt("file", serde_json::json!({ "path": path, "before": before, "after": after }));
                }
                if count > MAX_RECEIPTS {
                    self.receipt("file", serde_json::json!({ "more": count - MAX_RECEIPTS }));
                }
            }
            Ok(Err(error)) => tracing::warn!("what this turn has changed cannot be undone: {error:#}"),
            Err(error) => tracing::warn!("what this turn has changed cannot be undone: {error}"),
        }
    }
}
