//! The lower end of a terminal: lines that stay, and below them a few that are drawn anew.

use super::super::text;
use std::io::{self, Stdout, Write};
use termimad::crossterm::cursor::{Hide, MoveToColumn, MoveUp, Show};
use termimad::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use termimad::crossterm::style::Print;
use termimad::crossterm::terminal::{self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use termimad::crossterm::{execute, queue};

/// Where nobody says how large the terminal is.
const USUAL: (u16, u16) = (80, 24);

/// Draws in raw mode, so a line ends with both of its characters.
pub(super) struct Screen {
    out: Stdout,
    /// Rows that are drawn anew next time.
    live: u16,
}

impl Screen {
    /// Takes the terminal over. Nothing stands on it that will be drawn anew.
    ///
    /// # Errors
    ///
    /// The terminal is none.
    pub(super) fn take() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let mut screen = Self { out: io::stdout(), live: 0 };
        // Without this mode a paste looks like typing, Enter included, and could answer a question.
        execute!(screen.out, Hide, EnableBracketedPaste)?;
        Ok(screen)
    }

    /// Columns and rows.
    pub(super) fn size() -> (usize, usize) {
        let (columns, rows) = terminal::size().unwrap_or(USUAL);
        // A terminal that has no size is one that nobody looks at.
        let or = |value: u16, usual: u16| usize::from(if value == 0 { usual } else { value });
        (or(columns, USUAL.0), or(rows, USUAL.1))
    }

    /// Columns that are drawn on: long lines are hard to read.
    pub(super) fn width() -> usize {
        Self::size().0.saturating_sub(1).clamp(20, 120)
    }

    /// Puts lines above what is drawn anew, for good, and draws that.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn draw(&mut self, stay: &[String], live: &[String]) -> io::Result<()> {
        let (columns, rows) = Self::size();
        queue!(self.out, BeginSynchronizedUpdate, MoveToColumn(0))?;
        if self.live > 1 {
            queue!(self.out, MoveUp(self.live - 1))?;
        }
        queue!(self.out, Clear(ClearType::FromCursorDown))?;
        for line in stay {
            queue!(self.out, Print(line), Print("\r\n"))?;
        }
        // What does not fit above the last row could not be taken away again.
        let live = &live[live.len().saturating_sub(rows.saturating_sub(1))..];
        for (at, line) in live.iter().enumerate() {
            let end = if at + 1 < live.len() { "\r\n" } else { "" };
            queue!(self.out, Print(clipped(line, columns)), Print(end))?;
        }
        self.live = live.len() as u16;
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Whoever draws next begins on a line of their own.
        let _ = self.draw(&[], &[]);
        let _ = execute!(self.out, Show, DisableBracketedPaste);
        let _ = terminal::disable_raw_mode();
    }
}

/// A line that takes one row. One with colors in it was made to fit.
fn clipped(line: &str, columns: usize) -> String {
    if line.contains('\u{1b}') { line.to_owned() } else { text::cut(line, columns.saturating_sub(1)) }
}
