//! Ends the process where the runtime no longer can.
//!
//! The runtime hears signals on the threads that run its tasks. A task that computes and never yields holds such a thread,
//! and enough of them hold all. So the signals that end the process are also taken by a thread that runs no task: a second
//! one is final, and the first one is when what it allows for is over.

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

/// How long the process may go on behind the time that its turns are given: to close what is open, and to end programs.
const GRACE: Duration = Duration::from_secs(10);

/// How long a Ctrl-C may wait to be heard before a second one ends the program.
const UNHEARD: Duration = Duration::from_secs(1);

/// How often the time that is left is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The exit code after a second signal.
const INTERRUPTED: i32 = 130;

/// The exit code after a first signal that the process did not follow in time: that of a program that SIGTERM ended.
const TERMINATED: i32 = 143;

/// Watches for signals until the process ends.
#[derive(Clone)]
pub(super) struct Watchdog {
    /// How long turns may go on after the first signal, in milliseconds.
    allowed: Arc<AtomicU64>,
}

impl Watchdog {
    /// Watches for Ctrl-C and SIGTERM. `allowed` is how long turns may go on after the first of them.
    ///
    /// # Errors
    ///
    /// The signals cannot be taken, or no thread can be started.
    pub(super) fn start(allowed: Duration) -> Result<Self> {
        Self::on(&[SIGINT, SIGTERM], allowed)
    }

    /// The same for SIGTERM alone, where Ctrl-C has a meaning of its own.
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

    /// Says anew how long turns may go on after the first signal, also behind it.
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

/// Ctrl-C where it ends a turn and not the program. One that is still unheard when the next comes a while later says that the
/// turn holds the thread that would hear it: then the second one ends the program.
#[derive(Clone, Default)]
pub(super) struct Interrupts {
    /// When Ctrl-C was pressed that was not heard yet.
    unheard: Arc<Mutex<Option<Instant>>>,
}

impl Interrupts {
    /// Those that come as a signal.
    ///
    /// # Errors
    ///
    /// The signal cannot be taken, or no thread can be started.
    pub(super) fn of_signal() -> Result<Self> {
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

    /// What was pressed is obeyed.
    pub(super) fn heard(&self) {
        *self.unheard.lock() = None;
    }
}

/// Ends the process, and waits for no other thread's output: that thread may be what hangs.
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
