//! The proxies of a turn's programs. They end with the turn.

use super::data::Turn;
use crate::host::Unreached;
use bub_egress::Destination;
use bub_sandbox_proxy::Proxy;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A plugin's proxy, and whether it is for a command that the owner typed.
type Key = (String, bool);

/// A proxy, with the ports of this machine that rules open.
pub struct ProgramProxy {
    /// The proxy.
    pub proxy: Proxy,
    /// Forwarded ports.
    pub loopback: Vec<Destination>,
    /// What it has refused.
    pub unreached: Unreached,
}

/// The proxies by the plugin that starts programs.
#[derive(Default)]
pub(super) struct ProgramProxies(Mutex<BTreeMap<Key, Arc<ProgramProxy>>>);

impl Turn {
    /// Ends the network of its programs, of those too that go on.
    pub(super) fn end_program_proxies(&self) {
        // Outside of the lock: what ends may ask for it.
        let proxies = std::mem::take(&mut *self.program_proxies.0.lock());
        drop(proxies);
    }

    /// The proxy for programs of that plugin, started at the first of them.
    pub fn program_proxy(
        &self,
        plugin: &str,
        is_typed: bool,
        start: impl FnOnce() -> ProgramProxy,
    ) -> Arc<ProgramProxy> {
        let mut proxies = self.program_proxies.0.lock();
        let started = proxies.entry((plugin.to_owned(), is_typed)).or_insert_with(|| Arc::new(start()));
        Arc::clone(started)
    }
}
