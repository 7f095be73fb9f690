//! `tape search`.

use super::super::style::Style;
use super::super::text::{self, WIDTH};
use super::progress::Progress;
use super::tape_arg::TapeArg;
use anyhow::Result;
use bub_config::Config;
use bub_tape::entry_text::body;
use bub_tape::{Hit, Search, json};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Columns before a hit that are shown.
const BEFORE: usize = 24;

/// Lines of an entry that are shown.
const LINES: usize = 2;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Words to search for; an entry must contain all of them
    text: String,
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Show only entries of this kind, as in `message` or `tool_call`
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only entries from this date or date and time on, as in `2026-11-21`; UTC unless it has an offset
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only entries up to this date, inclusive
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Largest number of hits
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let found = arguments.tape_arg.find(config, workspace).await?;
    let search = Search {
        text: arguments.text.clone(),
        kinds: arguments.kinds.clone(),
        since: arguments.since.clone(),
        until: arguments.until.clone(),
        limit: arguments.limit,
        ..Search::default()
    };
    let hits = Progress::new("searching").over(found.tape.search(&search)).await?;
    let mut out = io::stdout().lock();
    if arguments.json {
        let hits: Vec<String> = hits.iter().map(as_json).collect();
        let end = if hits.is_empty() { "" } else { "\n" };
        writeln!(out, "{{\"tape\": {}, \"hits\": [{}{end}]}}", json::quote(found.tape.name()), hits.join(","))?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::for_stdout();
    for hit in &hits {
        print(&mut out, hit, &arguments.text, style)?;
    }
    if hits.is_empty() {
        writeln!(io::stderr(), "nothing was found on tape `{}`", found.tape.name())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(hit: &Hit) -> String {
    format!("\n  {{\"score\": {:.3}, \"entry\": {}}}", hit.score, text::json_line(&hit.entry.line()))
}

fn print(out: &mut impl Write, hit: &Hit, sought: &str, style: Style) -> io::Result<()> {
    let entry = &hit.entry;
    let name = entry.name().map(|name| format!(" {name}")).unwrap_or_default();
    let title = text::cut(&format!("{}{name}", entry.kind), 40);
    let about = format!("{:>6} {title}", entry.id);
    // Below 0.9, typing errors were tolerated.
    let near = if hit.score < 0.9 { "  about" } else { "" };
    writeln!(out, "{}  {}{near}", style.bold(about), style.dim(text::date(&entry.date)))?;
    let whole = text::line(&body(entry).join(" "));
    let at = location(&whole, sought).unwrap_or_default();
    let excerpt: String = whole.chars().skip(at.saturating_sub(BEFORE)).take(WIDTH * LINES).collect();
    let lead = if at > BEFORE { "…" } else { "" };
    for line in text::fold(&format!("{lead}{}", excerpt.trim_start()), WIDTH - 7).iter().take(LINES) {
        writeln!(out, "{:7}{line}", "")?;
    }
    Ok(())
}

/// The position of the text, or else of the first of its words that occurs.
fn location(whole: &str, sought: &str) -> Option<usize> {
    let fold = |text: &str| text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect::<String>();
    let folded = fold(whole);
    let at = |word: &str| {
        let byte = folded.find(&fold(word))?;
        Some(folded.get(..byte)?.chars().count())
    };
    at(sought.trim()).or_else(|| sought.split_whitespace().find_map(at))
}
