//! Quarantine: a circuit breaker for plugins whose calls fault repeatedly.
//!
//! Counted are faults of the same bytes in the same hook, one behind the other, of one caller in one session. Three of them
//! put the plugin in quarantine for that caller there, and two sessions for that caller everywhere. Only callers that the
//! configuration trusts put it there for all: the owner by two sessions, or two of owner and peers. So a caller alone, and
//! strangers however many, switch off nothing for others. After a pause one call is let through, and its outcome decides. The guests that the program carries are never switched off: they are only made to wait.
//! The state is stored in a file, because `run` is a process of its own for each turn, and because `plugin
//! unquarantine` has to reach a running process. Workers on one database store it there: faults of all of them count
//! together.

mod breaker;
mod breaker_store;
mod breaker_table;
mod call_recorder;
mod caller;
mod crash_report;

use super::fault::Fault;
use super::loaded::{Plugin, Source};
use super::open_circuit::OpenCircuit;
use breaker::Key;
use breaker_store::{BreakerStore, Breakers, FileStore};
use breaker_table::TableStore;
use bub_postgres::Database;
pub use call_recorder::{CallRecorder, RecordGuard};
pub use caller::Caller;
pub(crate) use crash_report::CrashContext;
pub use crash_report::{CALL, COMPONENT, DIR, MAX_BYTES, adopt};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The circuit breakers of all plugins.
pub struct Quarantine {
    breaker_store: Arc<dyn BreakerStore>,
    dir: PathBuf,
    /// In a trial: the hooks that exceeded their deadline.
    slow: Option<Mutex<BTreeMap<Key, String>>>,
}

/// The key that faults are counted by: the hook, and the caller whose call it is.
#[derive(Debug, Clone, Copy)]
pub struct CircuitKey<'a> {
    /// The export's name.
    pub hook: &'static str,
    /// The caller that caused the call.
    pub caller: &'a Caller,
    /// The session of the call; empty: none.
    pub session: &'a str,
}

/// A call that was let through.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Permit {
    /// Whether its outcome decides if others follow.
    is_trial: bool,
    /// How long it has to wait first.
    pub(crate) wait: Duration,
}

/// The consequence of a fault.
pub(crate) struct Consequence {
    /// The quarantine that starts now, if any.
    pub(crate) circuit: Option<OpenCircuit>,
    /// The path of the crash report.
    pub(crate) reproducer: Option<PathBuf>,
}

fn key(plugin: &Plugin, hook: &str) -> Key {
    (plugin.digest.clone(), hook.to_owned())
}

impl Quarantine {
    /// The quarantine below that home directory. No file is created before the first fault.
    pub fn new(home: &Path) -> Self {
        let dir = home.join(DIR);
        Self { breaker_store: Arc::new(FileStore::new(&dir)), dir, slow: None }
    }

    /// The quarantine of all workers on that database. Crash reports are files below the home directory.
    ///
    /// # Errors
    /// Fails if the database does not answer.
    pub async fn shared(home: &Path, database: Database) -> Result<Self, bub_tape::Error> {
        Ok(Self { breaker_store: TableStore::start(database).await?, dir: home.join(DIR), slow: None })
    }

    /// A quarantine for a trial, where faults do not open circuits; only hooks that exceeded their deadline are not
    /// called again.
    pub fn for_trial(home: &Path) -> Self {
        Self { slow: Some(Mutex::default()), ..Self::new(home) }
    }

    /// The circuit of a hook that exceeded its deadline in this trial.
    fn too_slow(&self, plugin: &Plugin, hook: &str) -> Option<OpenCircuit> {
        let slow = self.slow.as_ref()?.lock();
        let key = key(plugin, hook);
        slow.get(&key).map(|fault| OpenCircuit {
            plugin: plugin.name.clone(),
            digest: key.0.clone(),
            hook: key.1.clone(),
            caller: None,
            session: None,
            left: Duration::ZERO,
            fault: fault.clone(),
        })
    }

    /// Changes the breaker of a key, and returns what the last attempt came to.
    async fn change<T: Send>(&self, key: &Key, mut change: impl FnMut(&mut Breakers) -> T + Send) -> Option<T> {
        let mut answer = None;
        self.breaker_store.change(key, &mut |breakers| answer = Some(change(breakers))).await;
        answer
    }

    /// The open circuit for the plugin in that context, if there is one.
    pub fn open_circuit(&self, plugin: &Plugin, call: CircuitKey<'_>) -> Option<OpenCircuit> {
        if self.slow.is_some() {
            return self.too_slow(plugin, call.hook);
        }
        let breakers = self.breaker_store.read();
        if breakers.is_empty() || plugin.source == Source::Embedded {
            return None;
        }
        let key = key(plugin, call.hook);
        breakers.get(&key)?.open_circuit(&key, call.caller, call.session, self.breaker_store.now())
    }

    /// Permits a call to start. After the pause of an open circuit one trial call is permitted until its outcome is
    /// known.
    pub(crate) async fn begin(&self, plugin: &Plugin, call: CircuitKey<'_>) -> Result<Permit, Box<OpenCircuit>> {
        if self.slow.is_some() {
            return self.too_slow(plugin, call.hook).map_or(Ok(Permit::default()), |circuit| Err(Box::new(circuit)));
        }
        let breakers = self.breaker_store.read();
        // Fast path: usually there is no breaker, and every guest call passes here.
        if breakers.is_empty() {
            return Ok(Permit::default());
        }
        let key = key(plugin, call.hook);
        let Some(breaker) = breakers.get(&key) else { return Ok(Permit::default()) };
        let CircuitKey { caller, session, .. } = call;
        if plugin.source == Source::Embedded {
            return Ok(Permit { is_trial: false, wait: breaker.back_off(caller, session) });
        }
        if let Some(circuit) = breaker.open_circuit(&key, caller, session, self.breaker_store.now()) {
            return Err(Box::new(circuit));
        }
        if !breaker.is_open(caller, session) {
            return Ok(Permit::default());
        }
        // Another process may have taken the trial between the read and the write.
        let pause = plugin.limits.quarantine();
        let store = &self.breaker_store;
        let taken = self.change(&key, |breakers| match breakers.get_mut(&key) {
            Some(breaker) => match breaker.open_circuit(&key, caller, session, store.now()) {
                Some(circuit) => Err(Box::new(circuit)),
                None => Ok(breaker.try_once(caller, session, store.now(), pause)),
            },
            None => Ok(false),
        });
        taken.await.unwrap_or(Ok(false)).map(|is_trial| Permit { is_trial, wait: Duration::ZERO })
    }

    /// Records a success.
    pub(crate) async fn succeeded(&self, plugin: &Plugin, call: CircuitKey<'_>, permit: Permit) {
        let breakers = self.breaker_store.read();
        if breakers.is_empty() {
            return;
        }
        let key = key(plugin, call.hook);
        let CircuitKey { caller, session, .. } = call;
        if breakers.get(&key).is_none_or(|breaker| !breaker.knows(caller, session) && !permit.is_trial) {
            return;
        }
        self.change(&key, |breakers| {
            if let Some(breaker) = breakers.get_mut(&key)
                && breaker.succeed(caller, session, permit.is_trial)
            {
                breakers.remove(&key);
            }
        })
        .await;
    }

    /// Records a fault of the plugin.
    pub(crate) async fn faulted(
        &self,
        (plugin, call, permit): (&Plugin, CircuitKey<'_>, Permit),
        fault: &Fault,
        report: &CrashContext<'_>,
    ) -> Consequence {
        let key = key(plugin, fault.hook);
        if self.slow.is_some() {
            return Consequence {
                circuit: None,
                reproducer: crash_report::keep(&self.dir, plugin, fault, call.session, report),
            };
        }
        // The fault's text goes into a file and into log lines.
        let text = (report.redact)(&bub_types::text::one_line(&fault.kind.to_string()));
        let text: String = text.chars().take(200).collect();
        let CircuitKey { caller, session, .. } = call;
        let store = &self.breaker_store;
        let circuit = self.change(&key, |breakers| {
            let breaker = breakers.entry(key.clone()).or_default();
            breaker.plugin.clone_from(&plugin.name);
            breaker.only_waits = plugin.source == Source::Embedded;
            breaker.fault.clone_from(&text);
            let is_open = breaker.fault(caller, session, store.now(), plugin.limits.quarantine(), permit.is_trial);
            (is_open && plugin.source != Source::Embedded)
                .then(|| breaker.open_circuit(&key, caller, session, store.now()))
                .flatten()
        });
        let circuit = circuit.await.flatten();
        let reproducer = crash_report::keep(&self.dir, plugin, fault, session, report);
        Consequence { circuit, reproducer }
    }

    /// Records an exceeded deadline.
    pub(crate) fn was_slow(&self, plugin: &Plugin, fault: &Fault) {
        if let Some(slow) = &self.slow {
            let mut slow = slow.lock();
            slow.entry(key(plugin, fault.hook)).or_insert_with(|| fault.kind.to_string());
        }
    }

    /// All open circuits.
    pub fn list(&self) -> Vec<OpenCircuit> {
        let (breakers, now) = (self.breaker_store.read(), self.breaker_store.now());
        breakers.iter().flat_map(|(key, breaker)| breaker.open_circuits(key, now)).collect()
    }

    /// Removes the breakers of the plugin with that name or digest, which lifts its quarantine. Returns their number.
    ///
    /// # Errors
    /// Fails if the change cannot be stored.
    pub async fn lift(&self, plugin: &str) -> anyhow::Result<usize> {
        self.breaker_store.lift(plugin).await.map_err(anyhow::Error::msg)
    }
}
