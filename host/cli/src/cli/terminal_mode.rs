//! What Enter sends while nobody reads: a terminal turns its carriage return into a line feed unless it is told not to, and
//! a chat reads that as Ctrl-J, which begins a new line.

use parking_lot::Mutex;
use rustix::termios::{InputModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Read, stdin};
use std::os::unix::fs::OpenOptionsExt;

/// The longest line that a terminal keeps, in bytes, and how many are taken.
const MAX_LINE: usize = 4096;
const MAX_AHEAD: usize = 64;

/// The terminal's modes as they were before.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Enter arrives as it was pressed, also when it is pressed between two readers, until this is dropped.
pub(super) struct KeepReturns(());

impl KeepReturns {
    pub(super) fn new() -> Self {
        if stdin().is_terminal()
            && let Ok(modes) = tcgetattr(stdin())
        {
            *lock() = Some(modes);
            apply();
        }
        Self(())
    }
}

impl Drop for KeepReturns {
    fn drop(&mut self) {
        restore();
    }
}

/// Does something for which the terminal has to be as it was: reading a line, or leaving it to the shell.
pub(super) fn as_before<T>(work: impl FnOnce() -> T) -> T {
    let before = lock().clone();
    if let Some(before) = &before {
        let _ = tcsetattr(stdin(), OptionalActions::Now, before);
    }
    let done = work();
    if before.is_some() {
        apply();
    }
    done
}

/// The lines that were typed and ended before anybody took the terminal over: in raw mode their ends would be line feeds.
pub(super) fn typed_ahead() -> Vec<String> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let Ok(mut terminal) = OpenOptions::new().read(true).custom_flags(flags).open("/dev/tty") else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut line = [0; MAX_LINE];
    // A read gives one line, whole; an error: there is none.
    while lines.len() < MAX_AHEAD
        && let Ok(length @ 1..) = terminal.read(&mut line)
    {
        let text = String::from_utf8_lossy(line.get(..length).unwrap_or_default()).into_owned();
        lines.push(text.trim_end_matches(['\n', '\r']).to_owned());
    }
    lines
}

/// Gives the terminal back as it was, for good.
pub(super) fn restore() {
    if let Some(before) = lock().take() {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}

fn apply() {
    if let Some(mut modes) = lock().clone() {
        modes.input_modes.remove(InputModes::ICRNL);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }
}

/// Never held while something is waited for.
fn lock() -> parking_lot::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock()
}
