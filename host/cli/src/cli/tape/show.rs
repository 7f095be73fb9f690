//! `tape show`.

use super::super::style::Style;
use super::super::text;
use super::outline::Outline;
use super::tape_arg::TapeArg;
use anyhow::{Result, bail};
use bub_config::Config;
use bub_tape::{Entry, Query, Start, Tape, json};
use bub_types::suggest;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Entries that are held at once.
const PAGE: usize = 256;

/// The kinds of this program.
const KINDS: [&str; 7] = ["message", "system", "anchor", "tool_call", "tool_result", "error", "event"];

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Show only the newest N entries
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Show only entries from the newest anchor on, or from the newest anchor of this name
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with = "after")]
    from_anchor: Option<Option<String>>,
    /// Show only entries after this id
    #[arg(long, value_name = "ID")]
    after: Option<u64>,
    /// Show only entries of this kind, as in `message` or `tool_call`
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Show only this entry, in full
    #[arg(long, value_name = "ID", conflicts_with_all = ["last", "from_anchor", "after", "kinds"])]
    id: Option<u64>,
    /// Do not shorten long texts
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let found = arguments.tape_arg.find(config, workspace).await?;
    let tape = &found.tape;
    let query = arguments.query(tape).await?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut page = Page::new(arguments, tape.name());
    if arguments.last.is_some() {
        // Read from the end; the user has named their number.
        let mut entries = tape.query(&query).await?;
        entries.reverse();
        page.print(&mut out, &entries)?;
    } else {
        let mut cursor = tape.cursor(&query).await?;
        loop {
            let entries = cursor.next(PAGE).await?;
            if entries.is_empty() {
                break;
            }
            page.print(&mut out, &entries)?;
        }
    }
    page.end(&mut out)?;
    out.flush()?;
    if page.printed == 0 {
        if let Some(id) = arguments.id {
            bail!("there is no entry {id} on tape `{}`", tape.name());
        }
        writeln!(io::stderr(), "no entry fits{}", arguments.hint())?;
    }
    drop(out);
    found.keep_index().await;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    async fn query(&self, tape: &Tape) -> Result<Query> {
        let mut query = Query { kinds: self.kinds.clone(), ..Query::default() };
        if let Some(id) = self.id {
            // Without an entry of that id, the query would return the next one.
            let one = tape.read(id.saturating_sub(1), 1).await?;
            query.limit = Some(usize::from(one.first().is_some_and(|entry| entry.id == id)));
            query.start = Start::AfterId(id.saturating_sub(1));
        }
        if let Some(after) = self.after {
            query.start = Start::AfterId(after);
        }
        if let Some(name) = &self.from_anchor {
            let Some(anchor) = tape.last_anchor(name.as_deref(), None).await? else {
                match name {
                    Some(name) => bail!("there is no anchor `{}` on tape `{}`", text::line(name), tape.name()),
                    None => bail!("there is no anchor on tape `{}`", tape.name()),
                }
            };
            query.start = Start::AfterId(anchor.id.saturating_sub(1));
        }
        if self.last.is_some() {
            query.newest_first = true;
            query.limit = self.last;
        }
        Ok(query)
    }

    /// A suggestion for an unknown kind.
    fn hint(&self) -> String {
        let unknown = self.kinds.iter().find(|kind| !KINDS.contains(&kind.as_str()));
        unknown.map(|kind| suggest::hint(kind, KINDS)).unwrap_or_default()
    }
}

/// The state of the output.
struct Page<'a> {
    outline: Option<Outline>,
    tape: &'a str,
    printed: usize,
}

impl<'a> Page<'a> {
    fn new(arguments: &Arguments, tape: &'a str) -> Self {
        let outline = Outline { full: arguments.full || arguments.id.is_some(), style: Style::for_stdout() };
        Self { outline: (!arguments.json).then_some(outline), tape, printed: 0 }
    }

    fn print(&mut self, out: &mut impl Write, entries: &[Entry]) -> io::Result<()> {
        for entry in entries {
            match self.outline {
                Some(outline) => outline.print(out, entry)?,
                None => {
                    if self.printed == 0 {
                        write!(out, "{{\"tape\": {}, \"entries\": [", json::quote(self.tape))?;
                    }
                    let comma = if self.printed == 0 { "" } else { "," };
                    write!(out, "{comma}\n  {}", text::json_line(&entry.line()))?;
                }
            }
            self.printed += 1;
        }
        Ok(())
    }

    fn end(&self, out: &mut impl Write) -> io::Result<()> {
        match (self.outline, self.printed) {
            (Some(_), _) => Ok(()),
            (None, 0) => writeln!(out, "{{\"tape\": {}, \"entries\": []}}", json::quote(self.tape)),
            (None, _) => writeln!(out, "\n]}}"),
        }
    }
}

/// Prints entries as JSON, as on the tape.
pub(super) fn print_json(out: &mut impl Write, tape: &str, what: &str, entries: &[Entry]) -> io::Result<()> {
    let lines: Vec<String> = entries.iter().map(|entry| format!("\n  {}", text::json_line(&entry.line()))).collect();
    let end = if lines.is_empty() { "" } else { "\n" };
    writeln!(out, "{{\"tape\": {}, \"{what}\": [{}{end}]}}", json::quote(tape), lines.join(","))
}
