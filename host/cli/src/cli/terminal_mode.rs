//! Keeps Enter as a carriage return between reads: a terminal translates it to a line feed by default, which a chat reads
//! as Ctrl-J, a new line.

use parking_lot::Mutex;
use rustix::termios::{InputModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Read, stdin};
use std::os::unix::fs::OpenOptionsExt;

/// The longest line that a terminal buffers, in bytes, and how many lines are read.
const MAX_LINE: usize = 4096;
const MAX_AHEAD: usize = 64;

/// The original modes of the terminal.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keeps carriage returns until it is dropped.
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

/// Runs `work` with the original modes, for reading a line or leaving the terminal to the shell.
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

/// Lines that were typed before raw mode, where their ends would be line feeds.
pub(super) fn typed_ahead() -> Vec<String> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let Ok(mut terminal) = OpenOptions::new().read(true).custom_flags(flags).open("/dev/tty") else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut line = [0; MAX_LINE];
    // A read returns one whole line; an error means there is none.
    while lines.len() < MAX_AHEAD
        && let Ok(length @ 1..) = terminal.read(&mut line)
    {
        let text = String::from_utf8_lossy(line.get(..length).unwrap_or_default()).into_owned();
        lines.push(text.trim_end_matches(['\n', '\r']).to_owned());
    }
    lines
}

/// Restores the original modes for good.
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

/// Never held across a wait.
fn lock() -> parking_lot::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock()
}
