//! Whether entries are chained, their heads signed, and a witness takes them.

use super::{Diagnostic, State, diagnostic};
use bub_audit::{AuditFolder, HEADS};
use bub_config::{Config, Witness};
use std::fs;

const WHAT: &str = "audit";

pub(super) fn diagnostics(config: &Config) -> Vec<Diagnostic> {
    if !config.chains_entries() {
        let text = "entries are not chained; `chain = true` in `[audit]` of config.toml turns that on";
        return vec![diagnostic(WHAT, State::Well, text)];
    }
    let folder = AuditFolder::new(config.audit_dir());
    let mut diagnostics = Vec::new();
    diagnostics.push(match folder.keys() {
        Ok(keys) => match (keys.faults.first(), keys.keys.last()) {
            (Some(fault), _) => diagnostic(WHAT, State::Wrong, format!("tampered: {fault}")),
            (None, Some(key)) => {
                let alone = if config.audit.witness.is_none() { "; no witness gets them" } else { "" };
                diagnostic(WHAT, State::Well, format!("the key `{}` signs the ends of turns{alone}", key.id))
            }
            (None, None) => diagnostic(WHAT, State::Well, "entries are chained; the first turn makes the key"),
        },
        Err(error) => {
            let text = format!("the keys in `{}` cannot be read: {error}", folder.path().display());
            diagnostic(WHAT, State::Wrong, text)
        }
    });
    let Some(name) = &config.audit.witness else { return diagnostics };
    let witness = match config.witness() {
        Ok(Some(Witness::Http(url, _))) => url.host_str().unwrap_or_default().to_owned(),
        Ok(_) => name.clone(),
        Err(error) => {
            diagnostics.push(diagnostic(WHAT, State::Wrong, format!("the witness gets nothing: {error:#}")));
            return diagnostics;
        }
    };
    let state = folder.witnessed();
    let signed = fs::metadata(folder.path().join(HEADS)).map_or(0, |about| about.len());
    let is_current = state.witness == *name;
    let waiting = if is_current { signed.saturating_sub(state.bytes) } else { signed };
    diagnostics.push(match (&state.failed, &state.at) {
        (Some(failed), _) if is_current => {
            let text = format!(
                "the witness `{witness}` has not taken the signed heads since {}: {}; turns go on, and the next one tries \
                 again, as `bub-wasm audit sign` does",
                failed.at, failed.why
            );
            diagnostic(WHAT, State::Wrong, text)
        }
        (_, Some(at)) if waiting == 0 && is_current => {
            diagnostic(WHAT, State::Well, format!("the witness `{witness}` has all signed heads, the latest since {at}"))
        }
        _ if waiting == 0 => diagnostic(WHAT, State::Well, format!("the witness `{witness}` gets the heads of turns")),
        _ => {
            let text = format!("the witness `{witness}` lacks signed heads; the next turn sends them");
            diagnostic(WHAT, State::Note, text)
        }
    });
    diagnostics
}
