//! Prompts outside of a turn, such as trust of a workspace and grants of a plugin.

use super::terminal_mode;
use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use termimad::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use termimad::crossterm::execute;

/// How long a prompt must be on the screen before a key can be part of its answer: earlier input was typed for something
/// else.
pub const ANSWER_DELAY: Duration = Duration::from_millis(500);

/// The interval in which typed bytes are discarded.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The byte that a terminal sends for Ctrl-C.
const CTRL_C: u8 = 3;

/// Asks on the terminal and returns the line without its ending; `None` at the end of the input. Input before
/// [`ANSWER_DELAY`] is discarded, and a paste includes the marks of bracketed paste, so callers compare the whole line.
///
/// # Errors
///
/// The terminal was closed, or Ctrl-C was pressed.
pub(in crate::cli) fn ask(question: &str) -> io::Result<Option<String>> {
    terminal_mode::as_before(|| ask_there(question))
}

fn ask_there(question: &str) -> io::Result<Option<String>> {
    let mut out = io::stdout().lock();
    write!(out, "{question}")?;
    out.flush()?;
    if io::stdin().is_terminal() {
        discard_typed_ahead()?;
    }
    execute!(out, EnableBracketedPaste)?;
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    execute!(out, DisableBracketedPaste)?;
    if read? == 0 {
        writeln!(out)?;
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Restores the terminal when the program ends during a prompt.
pub(in crate::cli) fn restore() {
    let before = BEFORE.lock().take();
    if let Some(before) = before {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
    terminal_mode::restore();
    let _ = execute!(io::stdout(), DisableBracketedPaste);
}

/// The modes of the terminal from before input was discarded.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Discards input that was typed before and during the delay, without an echo.
fn discard_typed_ahead() -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    *BEFORE.lock() = Some(before.clone());
    let mut hidden = before.clone();
    // Reads bytes without waiting for Enter, without an echo, and with Ctrl-C as a byte, because the modes have to be
    // restored first.
    hidden.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    hidden.special_codes[SpecialCodeIndex::VMIN] = 0;
    hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
    let discarded = discard_until(Instant::now() + ANSWER_DELAY);
    *BEFORE.lock() = None;
    // Input of this moment is discarded too.
    tcsetattr(io::stdin(), OptionalActions::Flush, &before)?;
    discarded
}

fn discard_until(end: Instant) -> io::Result<()> {
    let mut bytes = [0; 1024];
    while Instant::now() < end {
        let read = rustix::io::read(io::stdin(), &mut bytes)?;
        if bytes[..read].contains(&CTRL_C) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the question was interrupted"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Whether a line means yes.
pub(in crate::cli) fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Whether a line means no, or is empty, which is the default of `[y/N]`.
pub(in crate::cli) fn is_no(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "" | "n" | "no")
}
