//! Prints entries for people, in 80 columns.

use super::super::style::Style;
use super::super::text::{self, WIDTH};
use bub_tape::entry_text::body;
use bub_tape::{Entry, json};
use std::io::{self, Write};

/// The column where the text of an entry starts.
const INDENT: usize = 7;

/// The columns of a date with a space before it.
const DATE: usize = 20;

/// Prints entries.
#[derive(Clone, Copy)]
pub(super) struct Outline {
    /// Shows all of long texts.
    pub(super) full: bool,
    pub(super) style: Style,
}

impl Outline {
    /// Prints one entry; an anchor as a rule.
    pub(super) fn print(self, out: &mut impl Write, entry: &Entry) -> io::Result<()> {
        match &*entry.kind {
            "anchor" => writeln!(out, "{}", rule(entry, self.style))?,
            _ => writeln!(out, "{}", self.head(entry))?,
        }
        let body = body(entry);
        let lines: Vec<String> = body.iter().flat_map(|text| text::fold(text, WIDTH - INDENT)).collect();
        let most = if self.full { usize::MAX } else { shown(&entry.kind) };
        // A notice about one hidden line would take the place of that line.
        let most = if lines.len() == most.saturating_add(1) { lines.len() } else { most };
        for line in lines.iter().take(most) {
            let line = if entry.is("error") { self.style.red(line) } else { line.clone() };
            writeln!(out, "{:INDENT$}{line}", "")?;
        }
        if lines.len() > most {
            let rest = format!("... {} more lines: --id {} shows them, --full all", lines.len() - most, entry.id);
            writeln!(out, "{:INDENT$}{}", "", self.style.dim(rest))?;
        }
        Ok(())
    }

    fn head(self, entry: &Entry) -> String {
        let mut title = match &*entry.kind {
            "message" => json::get(&entry.payload, "role").map_or_else(|| "message".to_owned(), text::value),
            "event" => format!("event {}", entry.name().unwrap_or_default()),
            "error" => format!("error {}", json::get(&entry.payload, "kind").map(text::value).unwrap_or_default()),
            kind => kind.to_owned(),
        };
        if let Some(plugin) = json::get(&entry.meta, "plugin").and_then(json::string) {
            title.push_str(&format!(" by {plugin}"));
        }
        if !entry.in_context() {
            title.push_str(" (out of context)");
        }
        let id = format!("{:>6}", entry.id);
        let title = text::cut(title.trim_end(), WIDTH.saturating_sub(id.len() + 1 + DATE));
        let date = text::date(&entry.date);
        let used = id.len() + 1 + text::width(&title) + text::width(&date);
        let gap = " ".repeat(WIDTH.saturating_sub(used));
        let title = match &*entry.kind {
            "error" => self.style.red(title),
            "event" | "system" => self.style.dim(title),
            _ => self.style.bold(title),
        };
        format!("{} {title}{gap}{}", self.style.dim(id), self.style.dim(date))
    }
}

/// An anchor as a rule over the whole width; that of a section, where no view starts, as a dashed one.
pub(super) fn rule(anchor: &Entry, style: Style) -> String {
    let stroke = if anchor.is_section_anchor() { "╌" } else { "─" };
    let end = format!(" {} {} ", anchor.id, text::date(&anchor.date));
    let name = anchor.name().unwrap_or_default();
    let name = text::cut(&name, WIDTH.saturating_sub(text::width(&end) + 8));
    let used = 2 + 2 + text::width(&name) + text::width(&end) + 2;
    let middle = stroke.repeat(WIDTH.saturating_sub(used));
    style.cyan(format!("{0}{0} {name} {middle}{end}{0}{0}", stroke))
}

/// Lines of an entry that are shown.
fn shown(kind: &str) -> usize {
    match kind {
        "message" => 16,
        "tool_call" | "tool_result" => 8,
        "anchor" | "error" => 6,
        "event" => 2,
        _ => 3,
    }
}
