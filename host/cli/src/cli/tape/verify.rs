//! `tape verify`.

use super::super::text::{self, WIDTH};
use super::list::set_aside;
use super::progress::Progress;
use super::tape_arg::TapeArg;
use super::tape_location::TapeLocation;
use anyhow::{Context, Result};
use bub_config::Config;
use bub_tape::{Fault, Query, Tape, Verified, Verifier};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::ExitCode;

/// Entries that are held at once.
const PAGE: usize = 256;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Check all tapes
    #[arg(long, conflicts_with_all = ["tape", "session"])]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A problem of a tape.
struct Diagnostic {
    what: &'static str,
    text: String,
    advice: String,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let mut is_wrong = false;
    let mut all = Vec::new();
    let mut verify = async |tape: &Tape, location: &TapeLocation| -> Result<()> {
        let (entries, diagnostics) = look(tape, location).await?;
        is_wrong |= !diagnostics.is_empty();
        match arguments.json {
            true => all.push(as_json(tape.name(), entries, &diagnostics)),
            false => print(tape.name(), entries, &diagnostics)?,
        }
        Ok(())
    };
    if arguments.all {
        let location = TapeLocation::open(config, workspace).await?;
        for name in location.names().await? {
            // It may have been removed since it was listed.
            if let Some(tape) = location.holds(&name).await? {
                verify(&tape, &location).await?;
            }
        }
    } else {
        let found = arguments.tape_arg.find(config, workspace).await?;
        verify(&found.tape, &found.location).await?;
    }
    if arguments.json {
        writeln!(std::io::stdout(), "{:#}", json!({ "tapes": all }))?;
    }
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn look(tape: &Tape, location: &TapeLocation) -> Result<(u64, Vec<Diagnostic>)> {
    let name = tape.name();
    let file = location.file(name);
    let verified = match &file {
        Some(file) => read(file)?,
        None => page(tape).await?,
    };
    let mut diagnostics: Vec<Diagnostic> =
        verified.faults.iter().map(|fault| diagnostic(fault, &location.display_name(name))).collect();
    if verified.untold > 0 {
        diagnostics.push(Diagnostic {
            what: "more",
            text: format!("{} more", verified.untold),
            advice: "fix the reported problem, then verify again".to_owned(),
        });
    }
    let torn = file.as_ref().map_or(0, |file| set_aside(file));
    if torn > 0 {
        diagnostics.push(Diagnostic {
            what: "set_aside",
            text: format!("{} of torn lines were set aside in `{name}.jsonl.torn`", text::bytes(torn)),
            advice: "check whether the file has anything that is missing, then delete it".to_owned(),
        });
    }
    if let Some(tapes) = location.tapes()
        && let Some(left) = tapes.journals().left(name).await?
    {
        let entries = text::count(left.entries as u64, "entry", "entries");
        diagnostics.push(Diagnostic {
            what: "interrupted",
            text: format!("an interrupted turn of {entries} is not on the tape yet"),
            advice: "the next turn or handoff of the session recovers it".to_owned(),
        });
    }
    Ok((verified.entries, diagnostics))
}

fn read(file: &Path) -> Result<Verified> {
    let failed = || format!("`{}` cannot be read", file.display());
    let mut lines = BufReader::with_capacity(1 << 16, File::open(file).with_context(failed)?);
    let mut verifier = Verifier::new();
    let mut progress = Progress::new("verifying");
    verifier.read(&mut lines, |entries| progress.at(entries, None)).with_context(failed)?;
    Ok(verifier.finish())
}

async fn page(tape: &Tape) -> Result<Verified> {
    let mut verifier = Verifier::new();
    let mut progress = Progress::new("verifying");
    let mut cursor = tape.cursor(&Query::default()).await?;
    let mut seen = 0;
    loop {
        let entries = cursor.next(PAGE).await?;
        if entries.is_empty() {
            return Ok(verifier.finish());
        }
        entries.iter().for_each(|entry| verifier.entry(entry));
        seen += entries.len() as u64;
        progress.at(seen, None);
    }
}

fn diagnostic(fault: &Fault, tape: &str) -> Diagnostic {
    let (what, text, advice) = match fault {
        Fault::Unreadable { line } => (
            "unreadable",
            format!("line {line} has no entry and is skipped"),
            format!("look at it: sed -n {line}p {}.jsonl", tape.trim_end_matches(".jsonl")),
        ),
        Fault::Torn { line, bytes } => (
            "torn",
            format!("line {line}, the last, is incomplete: {}", text::bytes(*bytes)),
            "the next append sets it aside, unless a process is writing it now".to_owned(),
        ),
        Fault::Order { id, before, read_as } => (
            "order",
            format!("entry {id} follows entry {before}, and is read as entry {read_as}"),
            "nothing is lost; two programs that assign ids independently must not write one tape".to_owned(),
        ),
        Fault::Repeated { first, last, original } => (
            "repeated",
            format!("entries {first} to {last} repeat those from {original} on, as a loss of power may leave it"),
            "a handoff keeps them from the model; durability = \"fsync\" prevents it".to_owned(),
        ),
        Fault::OpenCalls { id, calls } => (
            "open_calls",
            format!(
                "{} of entry {id} have no result, which providers refuse",
                text::count(*calls as u64, "call", "calls")
            ),
            format!("begin a new phase: bub-wasm tape handoff NAME {tape}"),
        ),
    };
    Diagnostic { what, text, advice }
}

fn as_json(tape: &str, entries: u64, diagnostics: &[Diagnostic]) -> Value {
    let diagnostics =
        diagnostics.iter().map(|found| json!({ "what": found.what, "text": found.text, "advice": found.advice }));
    json!({ "tape": tape, "entries": entries, "findings": diagnostics.collect::<Vec<_>>() })
}

fn print(tape: &str, entries: u64, diagnostics: &[Diagnostic]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if diagnostics.is_empty() {
        writeln!(out, "{}: {}, all well", text::cut(tape, WIDTH - 40), text::count(entries, "entry", "entries"))?;
    }
    for found in diagnostics {
        let lines = text::fold(&format!("{tape}: {}: {}", found.text, found.advice), WIDTH - 2);
        for (at, line) in lines.iter().enumerate() {
            writeln!(out, "{}{line}", if at == 0 { "" } else { "  " })?;
        }
    }
    Ok(())
}
