//! `tape list`.

use super::super::text;
use super::tape_location::TapeLocation;
use anyhow::Result;
use bub_config::Config;
use bub_tape::Tapes;
use serde_json::json;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Show only the tapes of this workspace
    #[arg(long)]
    here: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The summary of a tape without reading it.
struct Row {
    name: String,
    entries: u64,
    date: Option<String>,
    bytes: Option<u64>,
    is_here: bool,
    /// Empty: the tape of the workspace.
    session: Option<String>,
    is_torn: bool,
    is_interrupted: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let location = TapeLocation::open(config, workspace).await?;
    let mut rows = Vec::new();
    if let Some(tapes) = location.tapes() {
        for name in location.names().await? {
            if !arguments.here || location.is_of_workspace(&name) {
                rows.push(row(name, &location, tapes).await?);
            }
        }
    }
    let mut out = std::io::stdout().lock();
    match arguments.json {
        true => {
            writeln!(out, "{:#}", json!({ "tapes": rows.iter().map(|row| row.json(&location)).collect::<Vec<_>>() }))?
        }
        false => print(&mut out, &rows, &location)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn row(name: String, location: &TapeLocation, tapes: &Tapes) -> Result<Row> {
    let last = tapes.store().tail(&name, None, 1).await?.pop();
    let file = location.file(&name);
    Ok(Row {
        entries: last.as_ref().map_or(0, |last| last.id),
        date: last.map(|last| last.date.to_string()),
        bytes: file.as_ref().and_then(|file| file.metadata().ok()).map(|about| about.len()),
        is_here: location.is_of_workspace(&name),
        session: location.session(&name).await?,
        is_torn: file.is_some_and(|file| set_aside(&file) > 0 || ends_torn(&file)),
        is_interrupted: tapes.journals().left(&name).await?.is_some(),
        name,
    })
}

/// Bytes of incomplete lines that an append has set aside.
pub(super) fn set_aside(tape: &Path) -> u64 {
    let mut torn = tape.as_os_str().to_owned();
    torn.push(".torn");
    std::fs::metadata(torn).map_or(0, |about| about.len())
}

/// Whether the last line of the file is incomplete.
pub(super) fn ends_torn(tape: &Path) -> bool {
    let last = || {
        let mut file = File::open(tape).ok()?;
        file.seek(SeekFrom::End(-1)).ok()?;
        let mut last = [0];
        std::io::Read::read_exact(&mut file, &mut last).ok()?;
        Some(last != *b"\n")
    };
    last().unwrap_or(false)
}

impl Row {
    fn json(&self, location: &TapeLocation) -> serde_json::Value {
        json!({
            "name": self.name,
            "path": location.file(&self.name).map(|path| path.display().to_string()),
            "entries": self.entries,
            "last_date": self.date,
            "bytes": self.bytes,
            "workspace": self.is_here,
            "session": self.session.as_ref().filter(|session| !session.is_empty()),
            "torn": self.is_torn,
            "interrupted": self.is_interrupted,
        })
    }

    /// The session, or the tape if its session is unknown.
    fn shown(&self) -> &str {
        match self.session.as_deref() {
            Some("") => "(kept for the workspace)",
            Some(session) => session,
            None => &self.name,
        }
    }

    fn marks(&self) -> Vec<String> {
        let mut marks = Vec::new();
        if self.session.is_some() {
            marks.push(format!("tape {}", self.name));
        }
        if self.is_torn {
            marks.push("torn".to_owned());
        }
        if self.is_interrupted {
            marks.push("an interrupted turn waits".to_owned());
        }
        marks
    }
}

fn print(out: &mut impl Write, rows: &[Row], location: &TapeLocation) -> Result<()> {
    for row in rows {
        let star = if row.is_here { '*' } else { ' ' };
        let date = row.date.as_deref().map(text::date).unwrap_or_default();
        let bytes = row.bytes.map(text::bytes).unwrap_or_default();
        let shown = text::padded(row.shown(), 34);
        writeln!(out, "{star} {shown} {:>8} {date:<19} {bytes:>7}", row.entries)?;
        let marks = row.marks().join(", ");
        if !marks.is_empty() {
            text::fold(&marks, text::WIDTH - 4).iter().try_for_each(|part| writeln!(out, "    {part}"))?;
        }
        if row.session.is_none() && row.name.len() > 34 {
            text::fold(&row.name, text::WIDTH - 4).iter().try_for_each(|part| writeln!(out, "    {part}"))?;
        }
    }
    if rows.is_empty() {
        let at = location.dir.as_ref().map_or_else(String::new, |dir| format!(" in `{}`", dir.display()));
        writeln!(std::io::stderr(), "there are no tapes{at}")?;
    }
    Ok(())
}
