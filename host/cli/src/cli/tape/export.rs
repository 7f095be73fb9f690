//! `tape export`.

use super::super::text;
use super::progress::Progress;
use super::tape_arg::TapeArg;
use anyhow::{Context, Result};
use bub_config::Config;
use bub_system::files::Draft;
use bub_tape::{Query, Renderer, Tape, markdown, view};
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Entries that are held at once.
const PAGE: usize = 256;

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// The lines of the tape
    Jsonl,
    /// The conversation, for people
    Markdown,
    /// Chat messages, one a line: all of the tape as a model would read it
    Messages,
}

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// File to write, replacing it if it exists [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let found = arguments.tape_arg.find(config, workspace).await?;
    match &arguments.output {
        Some(path) => {
            let failed = || format!("`{}` cannot be written", path.display());
            let is_special = fs::metadata(path).is_ok_and(|about| !about.is_file());
            let as_it_is = |text: &str| text.to_owned();
            if is_special {
                let mut out = BufWriter::new(OpenOptions::new().write(true).open(path).with_context(failed)?);
                write(&found.tape, arguments.format, &mut out, &as_it_is).await?;
                out.flush().with_context(failed)?;
            } else {
                // An export that fails keeps the old file. Readable by its owner alone, like the tape.
                let mut out = BufWriter::new(Draft::new(path, 0o600).with_context(failed)?);
                write(&found.tape, arguments.format, &mut out, &as_it_is).await?;
                let draft = out.into_inner().map_err(|error| error.into_error()).with_context(failed)?;
                draft.publish().with_context(failed)?;
            }
        }
        None => {
            let stdout = io::stdout().lock();
            let is_terminal = stdout.is_terminal();
            let shown = |text: &str| match (is_terminal, arguments.format) {
                (false, _) => text.to_owned(),
                (true, Format::Markdown) => text.split('\n').map(text::line).collect::<Vec<_>>().join("\n"),
                (true, _) => text::json_line(text),
            };
            let mut out = BufWriter::new(stdout);
            write(&found.tape, arguments.format, &mut out, &shown).await?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the tape, with each text passed through `shown`.
async fn write(tape: &Tape, format: Format, out: &mut impl Write, shown: &dyn Fn(&str) -> String) -> Result<()> {
    let mut progress = Progress::new("exporting");
    let all = tape.last_id().await?;
    let mut cursor = tape.cursor(&Query::default()).await?;
    let mut renderer = Renderer::new();
    if matches!(format, Format::Markdown) {
        write!(out, "{}", shown(&markdown::title(&format!("Tape {}", tape.name()))))?;
    }
    loop {
        let entries = cursor.next(PAGE).await?;
        let Some(last) = entries.last().map(|last| last.id) else { break };
        for entry in &entries {
            match format {
                Format::Jsonl => writeln!(out, "{}", shown(&entry.line()))?,
                Format::Markdown => write!(out, "{}", shown(&markdown::entry(entry)))?,
                Format::Messages if view::sees(entry) => renderer.push(entry),
                Format::Messages => {}
            }
        }
        progress.at(last, Some(all));
    }
    for message in renderer.finish() {
        writeln!(out, "{}", shown(&message))?;
    }
    Ok(())
}
