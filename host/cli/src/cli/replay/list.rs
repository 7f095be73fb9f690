//! `replay --list`: the recorded turns.

use super::of_session;
use crate::cli::text;
use anyhow::Result;
use bub_recordings::{RecordingHeader, Store};
use bub_types::text::one_line;
use jiff::Timestamp;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Recordings that are listed by default.
const DEFAULT_LIMIT: usize = 20;

pub(super) fn run(store: &Store, session: Option<&str>, most: Option<usize>, as_json: bool) -> Result<ExitCode> {
    let found = of_session(store, session);
    let mut out = std::io::stdout().lock();
    let mut rows = Vec::new();
    if found.is_empty() && !as_json {
        writeln!(
            std::io::stderr(),
            "no turn is recorded: `record = \"all\"` in config.toml records those that follow"
        )?;
    }
    for recording in found.iter().rev().take(most.unwrap_or(DEFAULT_LIMIT)) {
        let header = RecordingHeader::read(&recording.file);
        if as_json {
            let (manifest, problem) = match &header {
                Ok(header) => (Some(&header.manifest), None),
                Err(problem) => (None, Some(problem.to_string())),
            };
            rows.push(json!({
                "turn": recording.name,
                "session": manifest.map(|manifest| &manifest.session),
                "started": manifest.and_then(|manifest| Timestamp::from_millisecond(manifest.started_ms).ok()),
                "runs": manifest.map(|manifest| &manifest.runs),
                "calls": manifest.map(|manifest| manifest.calls.len()),
                "failure": manifest.and_then(|manifest| manifest.failure.as_ref()),
                "bytes": recording.bytes,
                "digest": header.as_ref().ok().map(|header| &header.digest),
                "problem": problem,
            }));
            continue;
        }
        let about = match &header {
            Ok(header) => {
                let manifest = &header.manifest;
                let failed = manifest.failure.as_ref().map(|failure| format!("  failed: {}", one_line(failure)));
                let calls = text::count(manifest.calls.len() as u64, "call", "calls");
                format!("{}  {calls}{}", one_line(&manifest.session), failed.unwrap_or_default())
            }
            Err(problem) => problem.to_string(),
        };
        writeln!(out, "{}  {:>8}  {about}", recording.name, text::bytes(recording.bytes))?;
    }
    if as_json {
        writeln!(out, "{}", text::json(&json!({ "turns": rows })))?;
    }
    Ok(ExitCode::SUCCESS)
}
