//! The lower end of a terminal: lines that stay, and below them a few that are drawn anew.

use super::super::text;
use std::io::{self, Stdout, Write};
use termimad::crossterm::cursor::{Hide, MoveRight, MoveToColumn, MoveUp, Show};
use termimad::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use termimad::crossterm::style::Print;
use termimad::crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
};
use termimad::crossterm::{execute, queue};

/// Where nobody says how large the terminal is.
const USUAL: (u16, u16) = (80, 24);

/// Draws in raw mode, so a line ends with both of its characters.
pub(super) struct Screen {
    out: Stdout,
}

impl Screen {
    /// Takes the terminal over. Nothing stands on it that will be drawn anew.
    ///
    /// # Errors
    ///
    /// The terminal is none.
    pub(super) fn take() -> io::Result<Self> {
        let mut screen = Self { out: io::stdout() };
        screen.acquire()?;
        Ok(screen)
    }

    /// Takes the terminal again, which was released.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn acquire(&mut self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        // Without this mode a paste looks like typing, Enter included, and could answer a question.
        execute!(self.out, Hide, EnableBracketedPaste)
    }

    /// Gives the terminal back as it was; what is drawn anew is taken away.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn release(&mut self) -> io::Result<()> {
        let drawn = self.draw(&[], &[]);
        let shown = execute!(self.out, Show, DisableBracketedPaste);
        terminal::disable_raw_mode().and(drawn).and(shown)
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

    /// Puts lines above what is drawn anew, for good, and draws that. The cursor is left at its beginning: a terminal that
    /// lays its lines out for another width keeps the cursor where it stood in the text, so that all of it can be taken
    /// away again, however many rows it has become.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn draw(&mut self, stay: &[String], live: &[String]) -> io::Result<()> {
        let (columns, rows) = Self::size();
        queue!(self.out, BeginSynchronizedUpdate, MoveToColumn(0), Clear(ClearType::UntilNewLine))?;
        // From the first place of the screen some terminals would keep what is cleared in their history.
        queue!(self.out, MoveRight(1), Clear(ClearType::FromCursorDown), MoveToColumn(0))?;
        for line in stay {
            queue!(self.out, Print(line), Print("\r\n"))?;
        }
        // What does not fit above the last row could not be taken away again, and neither what takes two rows.
        let live = &live[live.len().saturating_sub(rows.saturating_sub(1))..];
        queue!(self.out, DisableLineWrap)?;
        for (at, line) in live.iter().enumerate() {
            let end = if at + 1 < live.len() { "\r\n" } else { "" };
            queue!(self.out, Print(clipped(line, columns)), Print(end))?;
        }
        queue!(self.out, EnableLineWrap, MoveToColumn(0))?;
        if live.len() > 1 {
            queue!(self.out, MoveUp(live.len() as u16 - 1))?;
        }
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Whoever draws next begins on a line of their own.
        let _ = self.release();
    }
}

/// A line that takes one row. One with colors in it was made to fit.
fn clipped(line: &str, columns: usize) -> String {
    if line.contains('\u{1b}') { line.to_owned() } else { text::cut(line, columns.saturating_sub(1)) }
}
