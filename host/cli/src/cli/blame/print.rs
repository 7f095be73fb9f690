//! A blame for people, and as JSON.

use super::super::style::Style;
use super::super::text::{self, WIDTH, count};
use anyhow::Result;
use bub_blame::{Blame, BlamedPart, Change, PartKind, PartReport, Passage, RequestTrail, blame};
use bub_types::text::grouped;
use std::io::Write;

/// Columns of a source.
const SOURCE: usize = 40;

/// Lines of a text of a message.
const MAX_LINES: usize = 6;

/// Bytes of one text that are looked at to be shown.
const MAX_SHOWN: usize = 4_096;

/// Prints who wrote which part of these requests.
///
/// # Errors
///
/// A trail is damaged, or the output is closed.
pub(in super::super) fn print(out: &mut impl Write, trails: &[RequestTrail], json: bool) -> Result<()> {
    let blames = trails.iter().map(blame).collect::<Result<Vec<_>, _>>();
    let blames = blames.map_err(|error| anyhow::anyhow!("the trail is damaged: {error}"))?;
    match &blames[..] {
        [only] if json => writeln!(out, "{}", text::json(&serde_json::to_value(only)?))?,
        all if json => writeln!(out, "{}", text::json(&serde_json::to_value(all)?))?,
        all => all.iter().try_for_each(|blame| request(out, blame))?,
    }
    Ok(())
}

fn request(out: &mut impl Write, blame: &Blame) -> Result<()> {
    let style = Style::for_stdout();
    let number = |kind| blame.parts.iter().filter(|part| part.kind == kind).count() as u64;
    let messages = count(number(PartKind::Message), "message", "messages");
    let tools = count(number(PartKind::Tool), "tool", "tools");
    let bytes = grouped(blame.body.len() as u64);
    let head = format!("request {} to {}", blame.request, blame.model);
    writeln!(out, "{}", style.bold(text::cut(&head, WIDTH)))?;
    writeln!(out, "{messages}, {tools}, {bytes} bytes\n")?;
    let mut messages = 0;
    for PartReport { part, passages } in &blame.report() {
        let Some(part) = part else { continue };
        if part.kind == PartKind::Message {
            messages += 1;
        }
        writeln!(out, "{}", style.bold(text::cut(&title(part, messages), WIDTH)))?;
        // What joins parts is the host's, and nothing to be seen.
        for (source, texts) in runs(part.kind, passages).into_iter().filter(|(_, texts)| !texts.trim().is_empty()) {
            let mut source = text::padded(&blame.sources[source].to_string(), SOURCE);
            let most = if part.kind == PartKind::Message { MAX_LINES } else { 1 };
            for line in beginning(texts.trim(), most) {
                writeln!(out, "  {} {line}", style.cyan(&source))?;
                source = " ".repeat(SOURCE);
            }
        }
    }
    for call in &blame.calls {
        let name = call.id.as_ref().map_or_else(|| call.tool.clone(), |id| format!("{} ({id})", call.tool));
        writeln!(out, "{}", style.bold(text::cut(&format!("call of {name}"), WIDTH)))?;
        for (what, changes) in [("arguments", &call.arguments), ("result", &call.result)] {
            changes.iter().try_for_each(|change| changed(out, blame, what, change))?;
        }
    }
    totals(out, blame)
}

/// The first lines of a text; the last one says whether there is more.
fn beginning(text: &str, most: usize) -> Vec<String> {
    let width = WIDTH - SOURCE - 3;
    if most == 1 {
        return vec![text::cut(text, width)];
    }
    let mut lines = text::fold(text, width - 1);
    if lines.len() > most {
        lines.truncate(most);
        lines.last_mut().into_iter().for_each(|line| line.push('…'));
    }
    lines
}

fn title(part: &BlamedPart, messages: usize) -> String {
    let name = part.name.as_deref().unwrap_or("?");
    match part.kind {
        PartKind::Message => {
            let entry = part.entry.map(|id| format!(", entry {id}")).unwrap_or_default();
            format!("message {messages}: {name}{entry}")
        }
        PartKind::Tool => format!("tool {name}"),
        PartKind::Settings => "settings".to_owned(),
    }
}

/// Neighbouring passages of one source, as one text each.
fn runs(kind: PartKind, passages: &[Passage]) -> Vec<(usize, String)> {
    let mut runs: Vec<(usize, String)> = Vec::new();
    // Its title says the role of a message.
    let is_shown = |passage: &&Passage| kind != PartKind::Message || !passage.path.ends_with(".role");
    for passage in passages.iter().filter(is_shown) {
        let end = passage.text.floor_char_boundary(MAX_SHOWN);
        let shown = match kind {
            PartKind::Settings => format!("{}={}", passage.path, &passage.text[..end]),
            _ => passage.text[..end].to_owned(),
        };
        match runs.last_mut() {
            Some((source, text)) if *source == passage.source => {
                if text.len() < MAX_SHOWN {
                    text.push_str(if text.ends_with(char::is_whitespace) { "" } else { " " });
                    text.push_str(&shown);
                }
            }
            _ => runs.push((passage.source, shown)),
        }
    }
    runs
}

fn changed(out: &mut impl Write, blame: &Blame, what: &str, change: &Change) -> Result<()> {
    let by = text::cut(&blame.sources[change.source].to_string(), SOURCE + 20);
    writeln!(out, "  {what}, changed by {by}")?;
    for (mark, side) in [('-', &change.before), ('+', &change.after)] {
        if !side.is_empty() {
            let end = side.floor_char_boundary(MAX_SHOWN);
            writeln!(out, "    {mark} {}", text::cut(&side[..end], WIDTH - 6))?;
        }
    }
    Ok(())
}

/// How much each source wrote.
fn totals(out: &mut impl Write, blame: &Blame) -> Result<()> {
    let mut bytes = vec![0; blame.sources.len()];
    blame.spans.iter().for_each(|span| bytes[span.source] += span.end - span.start);
    let mut all: Vec<_> = bytes.into_iter().enumerate().filter(|(_, bytes)| *bytes > 0).collect();
    all.sort_by_key(|(source, bytes)| (std::cmp::Reverse(*bytes), *source));
    writeln!(out, "{}", Style::for_stdout().bold("bytes by source"))?;
    for (source, bytes) in all {
        let source = text::padded(&blame.sources[source].to_string(), SOURCE + 20);
        writeln!(out, "  {source} {:>12}", grouped(bytes as u64))?;
    }
    writeln!(out)?;
    Ok(())
}
