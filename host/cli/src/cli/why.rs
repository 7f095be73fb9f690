//! `why`: explains why a tool call was allowed, asked about or denied.

use super::style::Style;
use super::tape::{self, ResolvedTape};
use super::text::{self, WIDTH};
use anyhow::{Result, bail};
use bub_config::Config;
use bub_runtime::why::{self, Explanation};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Decisions that are listed.
const MAX_DECISIONS: usize = 20;

/// Columns of a word for what is known.
const LABEL: usize = 15;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Id of a decision, of a tool call, or of the question about it [default: list the newest decisions]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Session of this workspace whose tape has it [default: cli:local]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    // The tapes take the configuration over.
    let for_tapes = Config::load(Some(&config.home))?;
    let found = tape::of_session(arguments.session.as_deref(), for_tapes, workspace).await?;
    let mut out = io::stdout().lock();
    match &arguments.id {
        Some(id) => {
            let explained = one(&found, &config, id, arguments.session.as_deref()).await?;
            match arguments.json {
                true => writeln!(out, "{}", text::json(&serde_json::to_value(&explained)?))?,
                false => print(&mut out, &explained)?,
            }
        }
        None => {
            let mut all = Vec::new();
            for decision in why::decisions(&found.tape, MAX_DECISIONS).await? {
                all.push(why::explain(&found.tape, &config, &decision).await?);
            }
            match arguments.json {
                true => writeln!(out, "{}", text::json(&serde_json::to_value(&all)?))?,
                false => list(&mut out, &all)?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn one(found: &ResolvedTape, config: &Config, id: &str, session: Option<&str>) -> Result<Explanation> {
    let Some(decision) = why::decision(&found.tape, id, None).await? else {
        let shown = text::cut(id, 64);
        let option = session.map(|session| format!(" --session '{}'", text::line(session))).unwrap_or_default();
        bail!(
            "no decision and no tool call `{shown}` in this session; `bub-wasm why{option}` lists the newest decisions"
        );
    };
    Ok(why::explain(&found.tape, config, &decision).await?)
}

fn list(out: &mut impl Write, all: &[Explanation]) -> Result<()> {
    if all.is_empty() {
        writeln!(out, "nothing was asked about or denied in this session")?;
    }
    for explained in all {
        let by = explained.facts.iter().find(|(what, _)| *what == "decided by").map(|(_, said)| said.as_str());
        writeln!(out, "{:>6}  {}", explained.id, text::cut(&explained.summary, WIDTH - 8))?;
        writeln!(out, "        {}", text::cut(by.unwrap_or_default(), WIDTH - 8))?;
    }
    Ok(())
}

fn print(out: &mut impl Write, explained: &Explanation) -> Result<()> {
    let style = Style::for_stdout();
    writeln!(out, "{}", style.bold(text::line(&explained.summary)))?;
    let remedies = explained.remedies.iter().map(|remedy| ("to change it", remedy));
    let facts = explained.facts.iter().map(|(what, said)| (*what, said));
    for (what, said) in facts.chain(remedies) {
        let mut label = format!("{what}:");
        for line in text::fold(said, WIDTH - LABEL - 3) {
            writeln!(out, "  {label:LABEL$} {line}")?;
            label.clear();
        }
    }
    writeln!(out, "  {:LABEL$} entry {} of the tape, {}", "written down:", explained.id, text::line(&explained.date))?;
    Ok(())
}
