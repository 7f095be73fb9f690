//! Quarantine: a circuit breaker for plugins whose calls fault repeatedly.
//!
//! Counted are faults of the same bytes in the same hook, one behind the other, of one caller in one session. Three of them
//! put the plugin in quarantine for that caller there, and two sessions for that caller everywhere. Only callers that the
//! configuration trusts put it there for all: the owner by two sessions, or two of owner and peers. So a caller alone, and
//! strangers however many, switch off nothing for others. After a pause one call is let through, and its outcome decides. The guests that the program carries are never switched off: they are only made to wait.
//! The state is stored in a file, because `run` is a process of its own for each turn, and because `plugin
//! unquarantine` has to reach a running process.

mod breaker;
mod breaker_store;
mod call_recorder;
mod caller;
mod crash_report;

use super::fault::Fault;
use super::loaded::{Plugin, Source};
use super::open_circuit::OpenCircuit;
use breaker::Key;
use breaker_store::BreakerStore;
pub use call_recorder::{CallRecorder, RecordGuard};
pub use caller::Caller;
pub(crate) use crash_report::CrashContext;
pub use crash_report::{CALL, COMPONENT, DIR, MAX_BYTES, adopt};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The circuit breakers of all plugins.
pub struct Quarantine {
    breaker_store: Mutex<BreakerStore>,
    dir: PathBuf,
    /// In a trial: the hooks that exceeded their deadline.
    slow: Option<Mutex<BTreeMap<Key, String>>>,
}

/// Whose call of which hook it is: what faults are counted by.
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

/// What a fault has led to.
pub(crate) struct Consequence {
    /// The quarantine that starts now, if any.
    pub(crate) circuit: Option<OpenCircuit>,
    /// The path of the crash report.
    pub(crate) reproducer: Option<PathBuf>,
}

fn key(plugin: &Plugin, hook: &str) -> Key {
    (plugin.digest.clone(), hook.to_owned())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Quarantine {
    /// The quarantine below that home directory. No file is created before the first fault.
    pub fn new(home: &Path) -> Self {
        let dir = home.join(DIR);
        Self { breaker_store: Mutex::new(BreakerStore::new(&dir)), dir, slow: None }
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

    fn breaker_store(&self) -> MutexGuard<'_, BreakerStore> {
        self.breaker_store.lock()
    }

    /// The open circuit for the plugin in that context, if there is one.
    pub fn open_circuit(&self, plugin: &Plugin, call: CircuitKey<'_>) -> Option<OpenCircuit> {
        if self.slow.is_some() {
            return self.too_slow(plugin, call.hook);
        }
        let mut breaker_store = self.breaker_store();
        let breakers = breaker_store.read();
        if breakers.is_empty() || plugin.source == Source::Embedded {
            return None;
        }
        let key = key(plugin, call.hook);
        breakers.get(&key)?.open_circuit(&key, call.caller, call.session, now())
    }

    /// Permits a call to start. After the pause of an open circuit one trial call is permitted until its outcome is
    /// known.
    pub(crate) fn begin(&self, plugin: &Plugin, call: CircuitKey<'_>) -> Result<Permit, Box<OpenCircuit>> {
        if self.slow.is_some() {
            return self.too_slow(plugin, call.hook).map_or(Ok(Permit::default()), |circuit| Err(Box::new(circuit)));
        }
        let mut breaker_store = self.breaker_store();
        // Fast path: usually there is no breaker, and every guest call passes here.
        if breaker_store.read().is_empty() {
            return Ok(Permit::default());
        }
        let key = key(plugin, call.hook);
        let Some(breaker) = breaker_store.read().get(&key) else { return Ok(Permit::default()) };
        let CircuitKey { caller, session, .. } = call;
        if plugin.source == Source::Embedded {
            return Ok(Permit { is_trial: false, wait: breaker.back_off(caller, session) });
        }
        if let Some(circuit) = breaker.open_circuit(&key, caller, session, now()) {
            return Err(Box::new(circuit));
        }
        if !breaker.is_open(caller, session) {
            return Ok(Permit::default());
        }
        // Another process may have taken the trial between the read and the write.
        let pause = plugin.limits.quarantine();
        let taken = breaker_store.change(|breakers| match breakers.get_mut(&key) {
            Some(breaker) => match breaker.open_circuit(&key, caller, session, now()) {
                Some(circuit) => Err(Box::new(circuit)),
                None => Ok(breaker.try_once(caller, session, now(), pause)),
            },
            None => Ok(false),
        });
        taken.map(|is_trial| Permit { is_trial, wait: Duration::ZERO })
    }

    /// Records a success.
    pub(crate) fn succeeded(&self, plugin: &Plugin, call: CircuitKey<'_>, permit: Permit) {
        let mut breaker_store = self.breaker_store();
        if breaker_store.read().is_empty() {
            return;
        }
        let key = key(plugin, call.hook);
        let CircuitKey { caller, session, .. } = call;
        if breaker_store.read().get(&key).is_none_or(|breaker| !breaker.knows(caller, session) && !permit.is_trial) {
            return;
        }
        breaker_store.change(|breakers| {
            if let Some(breaker) = breakers.get_mut(&key)
                && breaker.succeed(caller, session, permit.is_trial)
            {
                breakers.remove(&key);
            }
        });
    }

    /// Records a fault of the plugin.
    pub(crate) fn faulted(
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
        let circuit = self.breaker_store().change(|breakers| {
            let breaker = breakers.entry(key.clone()).or_default();
            breaker.plugin.clone_from(&plugin.name);
            breaker.only_waits = plugin.source == Source::Embedded;
            breaker.fault.clone_from(&text);
            let is_open = breaker.fault(caller, session, now(), plugin.limits.quarantine(), permit.is_trial);
            (is_open && plugin.source != Source::Embedded)
                .then(|| breaker.open_circuit(&key, caller, session, now()))
                .flatten()
        });
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
        let mut breaker_store = self.breaker_store();
        breaker_store.read().iter().flat_map(|(key, breaker)| breaker.open_circuits(key, now())).collect()
    }

    /// Removes the breakers of the plugin with that name or digest, which lifts its quarantine. Returns their number.
    ///
    /// # Errors
    /// Fails if the change cannot be stored.
    pub fn lift(&self, plugin: &str) -> anyhow::Result<usize> {
        let mut breaker_store = self.breaker_store();
        let released = breaker_store.change(|breakers| {
            let before = breakers.len();
            breakers.retain(|(digest, _), breaker| digest != plugin && breaker.plugin != plugin);
            before - breakers.len()
        });
        breaker_store.write_error().map_or(Ok(released), |write_error| Err(anyhow::anyhow!("{write_error}")))
    }
}
