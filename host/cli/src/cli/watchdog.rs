//! Ends the process if the async runtime cannot.
//!
//! The runtime handles signals on its worker threads. A task that computes without yielding holds such a thread, and enough
//! of them hold all. So a separate thread also takes the signals that end the process: a second one is final, and the first
//! one is when its deadline is over.

use anyhow::Result;
use bub_system::process;
use parking_lot::Mutex;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{Write, stderr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long the process may take beyond the deadline of its turns, to close files and end programs.
const GRACE: Duration = Duration::from_secs(10);

/// How long a Ctrl-C may be unhandled before a second one ends the program.
const UNHEARD: Duration = Duration::from_secs(1);

/// The interval in which the deadline is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The exit code after a second signal.
const INTERRUPTED: i32 = 130;

/// The exit code after a first signal that the process did not follow in time: that of SIGTERM.
const TERMINATED: i32 = 143;

/// Watches for signals until the process ends.
#[derive(Clone)]
pub(super) struct Watchdog {
    /// How long turns may continue after the first signal, in milliseconds.
    allowed: Arc<AtomicU64>,
}

impl Watchdog {
    /// Watches for Ctrl-C and SIGTERM. `allowed` is how long turns may continue after the first signal.
    ///
    /// # Errors
    ///
    /// The signals cannot be handled, or no thread can be started.
    pub(super) fn start(allowed: Duration) -> Result<Self> {
        Self::on(&[SIGINT, SIGTERM], allowed)
    }

    /// Watches for SIGTERM alone, where Ctrl-C has a meaning of its own.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub(super) fn on_terminate(allowed: Duration) -> Result<Self> {
        Self::on(&[SIGTERM], allowed)
    }

    fn on(signals: &[i32], allowed: Duration) -> Result<Self> {
        let watchdog = Self { allowed: Arc::default() };
        watchdog.allow(allowed);
        let mut signals = Signals::new(signals)?;
        let other = watchdog.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut signals = signals.forever();
            if signals.next().is_some() {
                let _timer = thread::Builder::new().name("watchdog".to_owned()).spawn(move || other.expire());
            }
            if signals.next().is_some() {
                exit(INTERRUPTED, None);
            }
        })?;
        Ok(watchdog)
    }

    /// Changes how long turns may continue after the first signal, even after it.
    pub(super) fn allow(&self, allowed: Duration) {
        self.allowed.store(u64::try_from(allowed.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn expire(&self) {
        let begun = Instant::now();
        loop {
            let most = Duration::from_millis(self.allowed.load(Ordering::Relaxed)).saturating_add(GRACE);
            if begun.elapsed() >= most {
                let seconds = most.as_secs();
                exit(TERMINATED, Some(&format!("error: not ended {seconds} seconds after the signal: ended now\n")));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Ctrl-C where it ends a turn and not the program. If one is unhandled when the next arrives a while later, the turn
/// blocks the thread that would handle it: then the second one ends the program.
#[derive(Clone, Default)]
pub(super) struct Interrupts {
    /// When an unhandled Ctrl-C was pressed.
    unheard: Arc<Mutex<Option<Instant>>>,
}

impl Interrupts {
    /// Handles Ctrl-C as a signal.
    ///
    /// # Errors
    ///
    /// The signal cannot be handled, or no thread can be started.
    pub(super) fn from_signal() -> Result<Self> {
        let interrupts = Self::default();
        let pressed = interrupts.clone();
        let mut signals = Signals::new([SIGINT])?;
        let press = move || signals.forever().for_each(|_| pressed.press());
        thread::Builder::new().name("interrupts".to_owned()).spawn(press)?;
        Ok(interrupts)
    }

    /// Ctrl-C was pressed.
    pub(super) fn press(&self) {
        let mut unheard = self.unheard.lock();
        match *unheard {
            Some(since) if since.elapsed() >= UNHEARD => exit(INTERRUPTED, None),
            Some(_) => {}
            None => *unheard = Some(Instant::now()),
        }
    }

    /// Marks the Ctrl-C as handled.
    pub(super) fn heard(&self) {
        *self.unheard.lock() = None;
    }
}

/// Ends the process without waiting for output of other threads, which may block.
fn exit(code: i32, why: Option<&str>) -> ! {
    process::kill_all();
    let _restored = termimad::crossterm::terminal::disable_raw_mode();
    super::terminal_mode::restore();
    if let Some(why) = why
        && let Ok(copy) = stderr().as_fd().try_clone_to_owned()
    {
        let _written = File::from(copy).write_all(why.as_bytes());
    }
    std::process::exit(code)
}
