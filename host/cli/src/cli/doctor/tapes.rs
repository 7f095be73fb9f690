//! Problems of the tapes.

use super::{Diagnostic, State, diagnostic};
use bub_config::TapeStorage;
use bub_runtime::host::Host;
use bub_tape::{Result, Tapes, network_file_system};
use std::sync::Arc;

/// Tapes that are named; further ones are counted.
const NAMED: usize = 5;

pub(super) async fn diagnostics(host: &Arc<Host>) -> Vec<Diagnostic> {
    let tapes = host.tapes();
    let mut diagnostics = vec![match counts(&tapes).await {
        Ok(found) => found,
        Err(error) => diagnostic("tapes", State::Wrong, error.to_string()),
    }];
    if let Some(dir) = tapes.journals().dir()
        && let Ok(Some(kind)) = network_file_system(dir)
        && !host.config.tapes.shared_fs
    {
        let text = format!(
            "`{}` lies on {kind}, whose locks may hold on this machine alone: use it from one machine at a time, or set `shared_fs = true` in config.toml if its locks hold everywhere",
            dir.display()
        );
        diagnostics.push(diagnostic("locks", State::Note, text));
    }
    if host.config.tapes.storage == TapeStorage::Files {
        let text = "Bub takes no locks: while it writes the same home, tapes can be torn";
        let is_bubs = host.config.home.join("config.yml").exists();
        diagnostics.extend(is_bubs.then(|| diagnostic("Bub", State::Note, text)));
    }
    diagnostics
}

async fn counts(tapes: &Tapes) -> Result<Diagnostic> {
    let names = tapes.store().list(None, usize::MAX).await?;
    let mut entries = 0;
    let mut ailing = Vec::new();
    for name in &names {
        let info = tapes.store().info(name).await?;
        entries += info.entries;
        let mut says = Vec::new();
        if info.unreadable > 0 {
            let lines = if info.unreadable == 1 { "line" } else { "lines" };
            says.push(format!("{} unreadable {lines}", info.unreadable));
        }
        if tapes.journals().dir().is_some_and(|dir| dir.join(format!("{name}.jsonl.torn")).exists()) {
            says.push("torn lines that were set aside".to_owned());
        }
        if tapes.journals().left(name).await?.is_some() {
            says.push("an interrupted turn, which the next one recovers".to_owned());
        }
        if !says.is_empty() {
            ailing.push(format!("`{name}` has {}", says.join(", ")));
        }
    }
    let counted = if names.len() == 1 { "tape" } else { "tapes" };
    let all = format!("{} {counted}, {entries} entries", names.len());
    if ailing.is_empty() {
        return Ok(diagnostic("tapes", State::Well, all));
    }
    let rest = ailing.len().saturating_sub(NAMED);
    ailing.truncate(NAMED);
    let rest = if rest > 0 { format!("; so have {rest} more") } else { String::new() };
    let text = format!("{all}; {}{rest}: `bub-wasm tape verify TAPE` says more", ailing.join("; "));
    Ok(diagnostic("tapes", State::Note, text))
}
