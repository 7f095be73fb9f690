//! Questions that are answered by a line outside of a turn: whether a workspace is trusted, what a plugin is given.

use super::terminal_mode;
use parking_lot::Mutex;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use termimad::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use termimad::crossterm::execute;

/// How long a question stands on the screen before a key can be part of its answer: what arrives sooner was typed for
/// something else.
pub const ANSWER_DELAY: Duration = Duration::from_millis(500);

/// How often typed bytes are taken while they are thrown away.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What a terminal sends for Ctrl-C.
const CTRL_C: u8 = 3;

/// Asks on the terminal, and gives the line that was typed, without its ending; none at the end of the input. What is
/// typed before the question has stood there for [`ANSWER_DELAY`] is thrown away, and a paste is no answer: it comes back
/// with the terminal's marks around it. So the line is to be compared as a whole.
///
/// # Errors
///
/// The terminal has gone, or Ctrl-C was pressed.
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

/// Gives the terminal back where a question is left without an answer, because the program ends.
pub(in crate::cli) fn restore() {
    let before = BEFORE.lock().take();
    if let Some(before) = before {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
    terminal_mode::restore();
    let _ = execute!(io::stdout(), DisableBracketedPaste);
}

/// The terminal's modes while what is typed is thrown away.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Takes what was typed and what is typed within the delay, without showing it.
fn discard_typed_ahead() -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    *BEFORE.lock() = Some(before.clone());
    let mut hidden = before.clone();
    // Bytes are there at once and not only behind Enter, are not shown, and Ctrl-C is one of them: the modes have to be
    // given back first.
    hidden.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    hidden.special_codes[SpecialCodeIndex::VMIN] = 0;
    hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
    let discarded = discard_until(Instant::now() + ANSWER_DELAY);
    *BEFORE.lock() = None;
    // What arrives in this moment is thrown away too.
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

/// Whether a line says yes.
pub(in crate::cli) fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Whether a line says no, or nothing, which is the same where `[y/N]` is asked.
pub(in crate::cli) fn is_no(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "" | "n" | "no")
}
