//! The lower end of a terminal: lines that scroll up, and a few below them that are redrawn.

use super::super::text;
use std::io::{self, Stdout, Write};
use termimad::crossterm::cursor::{Hide, MoveRight, MoveToColumn, MoveUp, Show};
use termimad::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use termimad::crossterm::style::Print;
use termimad::crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
};
use termimad::crossterm::{execute, queue};

/// The size of a terminal that does not report one.
const USUAL: (u16, u16) = (80, 24);

/// Draws in raw mode, where a line ends with CR and LF.
pub(super) struct Screen {
    out: Stdout,
}

impl Screen {
    /// Takes the terminal over, without redrawn lines.
    ///
    /// # Errors
    ///
    /// Stdout is not a terminal.
    pub(super) fn take() -> io::Result<Self> {
        let mut screen = Self { out: io::stdout() };
        screen.acquire()?;
        Ok(screen)
    }

    /// Takes the terminal again after a release.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn acquire(&mut self) -> io::Result<()> {
        terminal::enable_raw_mode()?;
        // Without bracketed paste, a paste looks like typing, Enter included, and could answer a request.
        execute!(self.out, Hide, EnableBracketedPaste)
    }

    /// Restores the terminal and removes the redrawn lines.
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
        // A terminal without a size is not visible.
        let or = |value: u16, usual: u16| usize::from(if value == 0 { usual } else { value });
        (or(columns, USUAL.0), or(rows, USUAL.1))
    }

    /// Columns to draw on: long lines are hard to read.
    pub(super) fn width() -> usize {
        Self::size().0.saturating_sub(1).clamp(20, 120)
    }

    /// Prints `stay` above the redrawn lines, and redraws those as `live`. The cursor stays at their beginning: a terminal
    /// that reflows its lines keeps the cursor at its place in the text, so that all of them can be removed, however many
    /// rows they take.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn draw(&mut self, stay: &[String], live: &[String]) -> io::Result<()> {
        let (columns, rows) = Self::size();
        queue!(self.out, BeginSynchronizedUpdate, MoveToColumn(0), Clear(ClearType::UntilNewLine))?;
        // Some terminals would keep text that is cleared from the top of the screen in their history.
        queue!(self.out, MoveRight(1), Clear(ClearType::FromCursorDown), MoveToColumn(0))?;
        for line in stay {
            queue!(self.out, Print(line), Print("\r\n"))?;
        }
        // Lines below the last row, and lines of two rows, could not be removed again.
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
        // The next output starts on a line of its own.
        let _ = self.release();
    }
}

/// A line cut to one row. One with colors was fitted already.
fn clipped(line: &str, columns: usize) -> String {
    if line.contains('\u{1b}') { line.to_owned() } else { text::cut(line, columns.saturating_sub(1)) }
}
