//! `tape info`.

use super::super::text;
use super::list::{ends_torn, set_aside};
use super::tape_arg::TapeArg;
use anyhow::Result;
use bub_config::Config;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let found = arguments.tape_arg.find(config, workspace).await?;
    let name = found.tape.name();
    let info = found.tape.info().await?;
    let file = found.file();
    let torn = file.as_ref().map_or(0, |file| set_aside(file));
    let ends_torn = file.as_ref().is_some_and(|file| ends_torn(file));
    let sidecars = found.tape.sidecars().await?;
    let left = match found.location.tapes() {
        Some(tapes) => tapes.journals().left(name).await?,
        None => None,
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let interrupted = left.map(|left| json!({ "entries": left.entries, "tools": left.tools }));
        let about = json!({
            "name": name,
            "session": found.session,
            "path": file.map(|file| file.display().to_string()),
            "entries": info.entries,
            "anchors": info.anchors,
            "last_anchor": info.last_anchor,
            "entries_since_last_anchor": info.entries_since_last_anchor,
            "last_token_usage": info.last_token_usage,
            "cache_hit_rate": info.cache_hit_rate,
            "unreadable": info.unreadable,
            "torn_bytes": torn,
            "ends_torn": ends_torn,
            "interrupted": interrupted,
            "sidecars": sidecars,
        });
        writeln!(out, "{}", text::json_line(&about.to_string()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![("tape", name.to_owned())];
    rows.extend(found.session.clone().map(|session| ("session", session)));
    rows.extend(file.map(|file| ("file", file.display().to_string())));
    rows.push(("entries", info.entries.to_string()));
    rows.push(("anchors", info.anchors.to_string()));
    if let Some(anchor) = info.last_anchor {
        let behind = text::count(info.entries_since_last_anchor, "entry", "entries");
        rows.push(("last anchor", format!("{anchor}, {behind} behind it")));
    }
    if let Some(tokens) = info.last_token_usage {
        let rate = info.cache_hit_rate.map(|rate| format!(", {:.0} % of its prompt from the cache", rate * 100.0));
        rows.push(("last run", format!("{tokens} tokens{}", rate.unwrap_or_default())));
    }
    rows.extend(sidecars.into_iter().map(|sidecar| ("sidecar", sidecar)));
    if info.unreadable > 0 {
        let lines = text::count(info.unreadable, "line", "lines");
        rows.push(("unreadable", format!("{lines}; bub-wasm tape verify shows which")));
    }
    if torn > 0 {
        rows.push((
            "torn",
            format!("{} of torn lines were set aside; bub-wasm tape verify says more", text::bytes(torn)),
        ));
    }
    if ends_torn {
        rows.push(("torn", "the last line lacks its end".to_owned()));
    }
    if let Some(left) = left {
        let tools = match left.tools.is_empty() {
            true => String::new(),
            false => format!("; may or may not have run: {}", left.tools.join(" ")),
        };
        let entries = text::count(left.entries as u64, "entry", "entries");
        rows.push(("interrupted", format!("{entries} of a turn wait for the next one{tools}")));
    }
    for (what, text) in rows {
        for (at, line) in text::fold(&text, text::WIDTH - 13).into_iter().enumerate() {
            writeln!(out, "{:<12} {line}", if at == 0 { what } else { "" })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
