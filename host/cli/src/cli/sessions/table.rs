//! The table of sessions.

use super::super::style::Style;
use super::super::text;
use super::lookup::Session;
use jiff::Timestamp;
use std::io::{self, Write};

/// Widths of the columns, in a table of 80.
const ID: usize = 20;
const ABOUT: usize = 28;
const AGE: usize = 11;
const TOKENS: usize = 7;

/// Prints the table with its header. `with_workspace`: with a line for the workspace of each.
///
/// # Errors
///
/// The output is closed.
pub(super) fn print(out: &mut impl Write, sessions: &[Session], with_workspace: bool, style: Style) -> io::Result<()> {
    let head = row("SESSION", "ABOUT", "AGE", "TOKENS", "CHANNEL");
    writeln!(out, "{}", style.bold(head))?;
    for session in sessions {
        let id = session.id().unwrap_or("(unknown)");
        let (age, tokens) = (age(session.used), tokens(session.about.tokens));
        writeln!(out, "{}", row(id, &about(session), &age, &tokens, session.channel()))?;
        let mut notes = Vec::new();
        if session.id().is_none() {
            notes.push(format!("tape {}", session.tape));
        }
        if with_workspace {
            let workspace = session.about.mark.as_ref().map(|mark| mark.workspace.as_str());
            notes.push(workspace.unwrap_or("an unknown workspace").to_owned());
        }
        notes.extend(session.held_by.as_ref().map(|holder| format!("{holder} runs a turn of it")));
        if !notes.is_empty() {
            writeln!(out, "  {}", style.dim(text::cut(&notes.join(", "), text::WIDTH - 2)))?;
        }
    }
    Ok(())
}

/// A session as a numbered line.
pub(super) fn numbered(number: usize, session: &Session, width: usize) -> String {
    let id = session.id().unwrap_or_default();
    let behind = format!(" · {} · {} tokens", age(session.used), tokens(session.about.tokens));
    let id = text::cut(id, 24);
    let room = width.saturating_sub(text::width(&behind) + text::width(&id) + 9).max(8);
    format!("{number:>3}  {} · {id}{behind}", text::cut(&about(session), room))
}

/// Its name, or the start of its first message.
pub(super) fn about(session: &Session) -> String {
    let summary = &session.about;
    let words = || summary.first_words.as_deref().map(|words| words.split_whitespace().collect::<Vec<_>>().join(" "));
    match (&summary.name, words()) {
        (Some(name), _) => name.clone(),
        (None, Some(words)) => words,
        (None, None) => "(no message yet)".to_owned(),
    }
}

fn row(id: &str, about: &str, age: &str, tokens: &str, channel: &str) -> String {
    let (id, about) = (text::padded(id, ID), text::padded(about, ABOUT));
    let line = format!("{id}  {about}  {age:<AGE$}{tokens:>TOKENS$}  {}", text::cut(channel, 8));
    line.trim_end().to_owned()
}

/// Its age in the largest full unit.
fn age(used: Option<Timestamp>) -> String {
    let Some(used) = used else { return String::new() };
    let seconds = Timestamp::now().as_second().saturating_sub(used.as_second());
    text::age(u64::try_from(seconds).unwrap_or_default())
}

fn tokens(tokens: u64) -> String {
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}M", (tokens / 1_000_000).min(99_999)),
    }
}
