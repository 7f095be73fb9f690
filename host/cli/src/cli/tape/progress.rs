//! Progress on stderr, on terminals only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The delay before the line is shown.
const DELAY: Duration = Duration::from_millis(500);

/// The interval of updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// A line that is overwritten, and removed at the end.
pub(in crate::cli) struct Progress {
    what: &'static str,
    seen: bool,
    next: Instant,
    shown: bool,
}

impl Progress {
    pub(in crate::cli) fn new(what: &'static str) -> Self {
        Self { what, seen: std::io::stderr().is_terminal(), next: Instant::now() + DELAY, shown: false }
    }

    /// Shows the number of entries done, and of all if known.
    pub(in crate::cli) fn at(&mut self, done: u64, all: Option<u64>) {
        if !self.seen || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + UPDATE_INTERVAL;
        self.shown = true;
        let of = all.map_or_else(String::new, |all| format!(" of {all}"));
        let _ = write!(std::io::stderr(), "\r\x1b[K{}: {done}{of} entries", self.what);
    }

    /// Awaits work without progress of its own.
    pub(in crate::cli) async fn over<T>(mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = tokio::time::sleep(UPDATE_INTERVAL) => self.wait(),
            }
        }
    }

    fn wait(&mut self) {
        if self.seen && Instant::now() >= self.next {
            self.shown = true;
            let _ = write!(std::io::stderr(), "\r\x1b[K{} ...", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
