//! Ctrl-Z: returns the terminal to the shell until `fg`.

use super::super::terminal_mode;
use rustix::process::{Signal, kill_current_process_group};
use std::time::Duration;

/// How long the process may take to stop: a signal reaches one of many threads.
const STOP_TIMEOUT: Duration = Duration::from_millis(100);

/// Stops the process as the terminal itself would, and returns when it continues. Raw mode must be off. Without a shell
/// that waits for it, the system does not stop it, and this returns at once.
pub(super) fn suspend() {
    terminal_mode::as_before(|| {
        if kill_current_process_group(Signal::TSTP).is_ok() {
            std::thread::sleep(STOP_TIMEOUT);
        }
    });
}
