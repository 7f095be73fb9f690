//! Servers by name: programs that are kept, and started again when they have ended.

use super::error::{Error, Result};
use super::lines::Lines;
use super::processes::Processes;
use super::program::ServerProgram;
use super::server::{Running, Server};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The pause after the first end of a server; it doubles up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause that an `open` waits for.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// A server that has run for so long is stable: its earlier ends do not count.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// A server, as the configuration has it.
#[derive(Clone, Copy, Debug)]
pub struct ServerSpec<'a> {
    /// Its name.
    pub name: &'a str,
    /// A text that differs if anything differs that the server is started with: another one then takes its place.
    pub version: &'a str,
    /// The program that it is; none: an address.
    pub program: Option<ServerProgram<'a>>,
}

/// The servers of a host. Their programs are among its [`Processes`], and end with them.
#[derive(Default)]
pub struct Servers {
    slots: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Slot>>>>,
}

/// One name. Locked while a server starts, so that it starts once.
#[derive(Default)]
struct Slot {
    version: String,
    running: Option<Arc<Running>>,
    /// Ends since it was stable.
    ends: u32,
    not_before: Option<Instant>,
}

impl Servers {
    /// The server of that name, which is started unless it runs. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if it has ended so often that it is not started again yet, and those of a start: as
    /// [`Processes::spawn`].
    pub async fn open(&self, processes: &Processes, spec: &ServerSpec<'_>) -> Result<Server> {
        let slot = Arc::clone(self.slots.lock().entry(spec.name.to_owned()).or_default());
        let mut slot = slot.lock().await;
        slot.adopt(spec.version);
        if let Some(running) = slot.alive() {
            return Ok(Server::new(running));
        }
        slot.wait(spec.name).await?;
        let running = Arc::new(match &spec.program {
            None => Running::address(spec.name),
            Some(program) => {
                let (state, input, output) = processes.spawn_server(spec.name, program)?;
                Running::program(spec.name, state, input, Lines::new(output))
            }
        });
        slot.running = Some(Arc::clone(&running));
        Ok(Server::new(running))
    }

    /// Ends the servers that the configuration no longer has.
    pub fn retain(&self, is_configured: impl Fn(&str) -> bool) {
        let mut slots = self.slots.lock();
        let gone: Vec<String> = slots.keys().filter(|name| !is_configured(name)).cloned().collect();
        for name in gone {
            // A slot that is locked is about to start its server for a call that still knows it.
            if slots.get(&name).is_some_and(|slot| slot.try_lock().is_ok_and(|mut slot| slot.end())) {
                slots.remove(&name);
            }
        }
    }
}

impl Slot {
    /// Ends a server that was started with something else.
    fn adopt(&mut self, version: &str) {
        if self.version != version {
            self.end();
            *self = Self { version: version.to_owned(), ..Self::default() };
        }
    }

    /// Always true, for a condition.
    fn end(&mut self) -> bool {
        if let Some(running) = self.running.take() {
            running.end();
        }
        true
    }

    /// The server, if it runs; otherwise its end is counted.
    fn alive(&mut self) -> Option<Arc<Running>> {
        let running = self.running.take()?;
        if running.is_alive() {
            self.running = Some(Arc::clone(&running));
            return Some(running);
        }
        if running.began.elapsed() >= STABLE_AFTER {
            self.ends = 0;
        }
        let pause = MIN_PAUSE.saturating_mul(1 << self.ends.min(10)).min(MAX_PAUSE);
        self.ends = self.ends.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
        None
    }

    /// Waits for the end of a short pause.
    async fn wait(&mut self, name: &str) -> Result<()> {
        let left = self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        if left > MAX_WAIT {
            let (ends, seconds) = (self.ends, left.as_secs() + 1);
            return Err(Error::Busy(format!(
                "the server `{name}` has ended {ends} times; it is started again in {seconds} s"
            )));
        }
        sleep(left).await;
        self.not_before = None;
        Ok(())
    }
}
