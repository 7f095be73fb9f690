//! The table of usage, 80 columns wide.

use super::super::text;
use anyhow::Result;
use bub_model::usage::Sum;
use bub_types::text::grouped;
use std::io::Write;

/// Columns of a name.
const NAME: usize = 24;

/// Rows that are shown; JSON has all of them.
const MAX_ROWS: usize = 50;

/// Prints the rows, and the total if there are several.
pub(super) fn print(out: &mut impl Write, rows: Vec<(String, &Sum)>, total: &Sum) -> Result<()> {
    let count = rows.len();
    line(out, "", ["calls", "prompt", "cached", "completion", "total"].map(str::to_owned))?;
    for (name, sum) in rows.into_iter().take(MAX_ROWS) {
        let name = text::line(&name);
        if text::width(&name) <= NAME {
            line(out, &name, columns(sum))?;
        } else {
            // A long name has its numbers on the next line.
            text::fold(&name, text::WIDTH).iter().try_for_each(|part| writeln!(out, "{part}"))?;
            line(out, "", columns(sum))?;
        }
    }
    if count > MAX_ROWS {
        writeln!(out, "and {} more, which --json shows", count - MAX_ROWS)?;
    }
    if count > 1 {
        line(out, "all", columns(total))?;
    }
    Ok(())
}

fn columns(sum: &Sum) -> [String; 5] {
    [sum.calls, sum.prompt, sum.cached, sum.completion, sum.total].map(grouped)
}

fn line(out: &mut impl Write, name: &str, columns: [String; 5]) -> Result<()> {
    let blanks = " ".repeat(NAME.saturating_sub(text::width(name)));
    let [calls, prompt, cached, completion, total] = columns;
    writeln!(out, "{name}{blanks} {calls:>7} {prompt:>11} {cached:>11} {completion:>11} {total:>11}")?;
    Ok(())
}
