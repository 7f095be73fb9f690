//! Queries what a plugin says of itself, when it is loaded.

use super::bindings::Exports;
use super::call::{GuestCall, call};
use super::context::CallContext;
use crate::host::Host;
use crate::plugin::{
    DeclaredChannel, ExportQuery, Fault, GrantRequest, Introduction, Manifest, Plugin, Queried, contract, parse_json,
};
use bub_types::hook::Call;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use wasmtime::component::Instance;
use wasmtime::{Result, Store};

use super::state::State;

/// Queries plugins in instances that have no turn.
pub(crate) struct LoadQuery(pub(crate) Arc<Host>);

impl ExportQuery for LoadQuery {
    fn query<'a>(
        &'a self,
        plugin: &'a Arc<Plugin>,
        asked: Queried,
        check: &'a (dyn Fn(&Introduction) -> std::result::Result<(), String> + Sync),
    ) -> BoxFuture<'a, std::result::Result<Introduction, Fault>> {
        Box::pin(call(&self.0, plugin, CallContext::outside(Call::Load), move |guest_call| {
            let GuestCall { exports, store, instance, .. } = guest_call;
            Box::pin(async move {
                let component = plugin.code()?.component().clone();
                exports.check(store, &instance, &component)?;
                let introduced = introduction(exports, store, &instance, asked).await?;
                check(&introduced).map_err(contract)?;
                Ok(introduced)
            })
        }))
    }
}

async fn introduction(
    exports: &Exports,
    store: &mut Store<State>,
    instance: &Instance,
    asked: Queried,
) -> Result<Introduction> {
    let mut introduction = Introduction::default();
    if asked.tools {
        introduction.tools = exports.tools(store, instance)?.call_list_tools(&mut *store).await?;
    }
    if asked.commands {
        let commands = exports.commands(store, instance)?.call_list_commands(&mut *store).await?;
        introduction.commands = commands.into_iter().map(|command| (command.name, command.about)).collect();
    }
    if asked.provider {
        introduction.provider = Some(exports.provider(store, instance)?.call_name(&mut *store).await?);
    }
    if asked.channel {
        let described = exports.channel(store, instance)?.call_describe(&mut *store).await?;
        introduction.channel = Some(DeclaredChannel {
            name: described.name,
            needs_debounce: described.needs_debounce,
            supports_polling: described.supports_polling,
            polling_secret: None,
            webhook: described.webhook,
            supports_edits: described.supports_edits,
            deduplicates: described.deduplicates,
        });
    }
    if asked.manifest {
        let described = exports.manifest(store, instance)?.call_describe(&mut *store).await?;
        let mut wants = Vec::with_capacity(described.wants.len());
        for want in described.wants {
            let grant = want.grant.parse().map_err(|reason| contract(format!("its manifest wants {reason}")))?;
            wants.push(GrantRequest { grant, why: want.why });
        }
        introduction.manifest = Some(Manifest {
            name: Some(described.name),
            version: described.version,
            about: described.about,
            wants,
            config_schema: described.config_schema.and_then(|schema| parse_json(&schema).ok()),
            ..Manifest::default()
        });
    }
    Ok(introduction)
}
