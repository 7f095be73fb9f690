//! A store with an instance in it: what one call of a guest runs in.

use super::context::CallContext;
use super::host_call_hook::Pace;
use super::linked::LinkedExports;
use super::state::{MAX_HANDLES, State};
use crate::host::Host;
use crate::plugin::recording::CallRecording;
use crate::plugin::{Plugin, Source, YIELD_INTERVAL};
use crate::turn::Turn;
use std::sync::Arc;
use wasmtime::component::Instance;
use wasmtime::{PoolConcurrencyLimitError, Result, Store};

pub(super) struct GuestInstance<'p> {
    pub(super) store: Store<State>,
    /// The linked exports that the instance is made of.
    pub(super) ready: &'p LinkedExports,
    /// None before it is made.
    instance: Option<Instance>,
    /// Whether another call of the turn may have it.
    may_rest: bool,
}

/// An instance between two calls of a turn.
struct IdleInstance {
    store: Store<State>,
    instance: Instance,
}

impl<'p> GuestInstance<'p> {
    /// The one that waits for the turn's next call, or a store of its own.
    pub(super) fn new(host: &Arc<Host>, plugin: &'p Arc<Plugin>, context: &CallContext) -> Result<Self> {
        let is_pooled = host.engines.fits_pool(plugin.limits.memory_bytes());
        let may_rest = is_pooled && may_rest(plugin, context);
        let recording = &context.recording;
        let rested = context.turn.as_ref().filter(|_| may_rest).and_then(|turn| match recording.is_playback() {
            true => host.recordings.unpark(recording.instance()?),
            false => turn.idle.take(plugin),
        });
        if let Some(idle) = rested.and_then(|idle| idle.downcast::<IdleInstance>().ok()) {
            let IdleInstance { mut store, instance } = *idle;
            store.data_mut().resume(context);
            recording.runs_in(store.data().number);
            bound(&mut store, plugin)?;
            return Ok(Self {
                store,
                ready: LinkedExports::from_code(plugin.code()?)?,
                instance: Some(instance),
                may_rest,
            });
        }
        let (mut store, ready) = store(host, plugin, context, !is_pooled)?;
        if may_rest {
            store.data_mut().number = recording.runs_in(recording.instance());
        }
        Ok(Self { store, ready, instance: None, may_rest })
    }

    /// The instance, made now unless it is there. Where the pool is full it is made on demand.
    pub(super) async fn instance(
        &mut self,
        host: &Arc<Host>,
        plugin: &'p Arc<Plugin>,
        context: &CallContext,
    ) -> Result<Instance> {
        if let Some(instance) = self.instance {
            return Ok(instance);
        }
        let made = match self.ready.pre.instantiate_async(&mut self.store).await {
            Err(error) if error.is::<PoolConcurrencyLimitError>() => {
                (self.store, self.ready) = store(host, plugin, context, true)?;
                self.may_rest = false;
                self.ready.pre.instantiate_async(&mut self.store).await?
            }
            made => made?,
        };
        self.instance = Some(made);
        Ok(made)
    }

    /// Fuel that the call has used.
    pub(super) fn fuel(&self, plugin: &Plugin) -> u64 {
        self.store.get_fuel().map_or(0, |left| plugin.limits.fuel.saturating_sub(left))
    }

    /// The call has ended well: the next one of the turn may have the instance, if that may be.
    pub(super) fn rest(mut self, plugin: &Arc<Plugin>, turn: &Turn, recording: &CallRecording) {
        if let (Some(instance), true) = (self.instance, self.may_rest)
            && self.store.data_mut().rest()
        {
            let host = self.store.data().host.clone();
            let number = self.store.data().number.filter(|_| recording.is_playback());
            let idle = Box::new(IdleInstance { store: self.store, instance });
            match number {
                Some(number) => host.recordings.park(number, idle),
                None => turn.idle.put(plugin, idle, host.engines.slots()),
            }
        }
    }
}

/// Whether that call may have an instance that another has had before.
fn may_rest(plugin: &Plugin, context: &CallContext) -> bool {
    let recording = &context.recording;
    // In a playback the number that the recording gives an instance says so: the plugin's file may be elsewhere now.
    let may_be_kept = plugin.source == Source::Embedded || recording.is_playback();
    may_be_kept && context.turn.is_some() && recording.may_share_instance()
}

fn store<'p>(
    host: &Arc<Host>,
    plugin: &'p Arc<Plugin>,
    context: &CallContext,
    on_demand: bool,
) -> Result<(Store<State>, &'p LinkedExports)> {
    let code = if on_demand { plugin.on_demand(&host.engines, &*host.linker)? } else { plugin.code()? };
    let ready = LinkedExports::from_code(code)?;
    let state = State::new(host.clone(), plugin.clone(), context);
    let mut store = Store::new(ready.pre.component().engine(), state);
    store.limiter(|state| &mut state.limiter);
    store.set_max_component_handles(MAX_HANDLES);
    store.call_hook_async(Pace);
    bound(&mut store, plugin)?;
    Ok((store, ready))
}

/// Sets the bounds of one call.
fn bound(store: &mut Store<State>, plugin: &Plugin) -> Result<()> {
    store.set_fuel(plugin.limits.fuel)?;
    store.fuel_async_yield_interval(Some(YIELD_INTERVAL))?;
    store.set_hostcall_fuel(plugin.limits.output_bytes());
    Ok(())
}
