//! Counts of calls into plugins, taken where the calls are made.

use super::fault::{Fault, FaultKind};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// The calls of one export of one plugin, since the program began.
#[derive(Debug, Clone, Default)]
pub struct Count {
    /// Calls that have ended, however they ended.
    pub calls: u64,
    /// Those that the plugin broke.
    pub faults: u64,
    /// How long they took together, waiting included.
    pub took: Duration,
    /// How long the longest took.
    pub longest: Duration,
    /// Fuel that they used together, in units of wasmtime's operator cost.
    pub fuel: u64,
    /// Fuel of the one that used most.
    pub most_fuel: u64,
    /// The fault of the last call that was broken.
    pub fault: Option<FaultKind>,
    /// The guest's output to stdout and stderr in that call, beside what the fault says.
    pub output: Option<Arc<str>>,
}

/// All counts, by the plugin's name and the export's.
#[derive(Debug, Default)]
pub struct Meter(Mutex<HashMap<String, BTreeMap<&'static str, Count>>>);

impl Meter {
    /// One call more.
    pub(crate) fn add(&self, plugin: &str, hook: &'static str, took: Duration, fuel: u64, fault: Option<&Fault>) {
        let mut all = self.all();
        // A name is copied once, not for each call.
        if !all.contains_key(plugin) {
            all.insert(plugin.to_owned(), BTreeMap::new());
        }
        let Some(count) = all.get_mut(plugin).map(|hooks| hooks.entry(hook).or_default()) else { return };
        count.calls += 1;
        count.took += took;
        count.longest = count.longest.max(took);
        count.fuel = count.fuel.saturating_add(fuel);
        count.most_fuel = count.most_fuel.max(fuel);
        if let Some(fault) = fault {
            count.faults += 1;
            count.fault = Some(fault.kind.clone());
            count.output = fault.wrote().map(Arc::from);
        }
    }

    /// The counts of the calls into that plugin so far, by export.
    pub fn of(&self, plugin: &str) -> BTreeMap<&'static str, Count> {
        self.all().get(plugin).cloned().unwrap_or_default()
    }

    /// All counts, in the order of names.
    pub fn counts(&self) -> Vec<(String, &'static str, Count)> {
        let all = self.all();
        let mut plugins: Vec<_> = all.iter().collect();
        plugins.sort_by_key(|(plugin, _)| *plugin);
        let counts = plugins
            .into_iter()
            .flat_map(|(plugin, hooks)| hooks.iter().map(|(hook, count)| (plugin.clone(), *hook, count.clone())));
        counts.collect()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<&'static str, Count>>> {
        self.0.lock()
    }
}
