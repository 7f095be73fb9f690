//! Queries what a plugin says of itself, when it is loaded.

use super::bindings::Exports;
use super::call::{GuestCall, call};
use super::context::CallContext;
use crate::host::Host;
use crate::plugin::{ExportQuery, GrantRequest, Introduction, Manifest, Plugin, Queried, parse_json};
use bub_types::hook::Call;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use wasmtime::component::Instance;
use wasmtime::{Result, Store};

use super::state::State;

/// Queries plugins in instances that have no turn.
pub(crate) struct LoadQuery(pub(crate) Arc<Host>);

impl ExportQuery for LoadQuery {
    fn query<'a>(&'a self, plugin: &'a Arc<Plugin>, asked: Queried) -> BoxFuture<'a, anyhow::Result<Introduction>> {
        Box::pin(async move {
            let component = &plugin.code.component().clone();
            let introduced = call(&self.0, plugin, CallContext::outside(Call::Load), |guest_call| {
                let GuestCall { exports, store, instance, .. } = guest_call;
                Box::pin(async move {
                    exports.check(store, &instance, component)?;
                    introduction(exports, store, &instance, asked).await
                })
            });
            Ok(introduced.await?)
        })
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
    if asked.manifest {
        let described = exports.manifest(store, instance)?.call_describe(&mut *store).await?;
        let wants = described.wants.into_iter().map(|want| GrantRequest { grant: want.grant, why: want.why });
        introduction.manifest = Some(Manifest {
            name: Some(described.name),
            version: described.version,
            about: described.about,
            wants: wants.collect(),
            config_schema: described.config_schema.and_then(|schema| parse_json(&schema).ok()),
            ..Manifest::default()
        });
    }
    Ok(introduction)
}
