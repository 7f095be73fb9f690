//! Opening a plugin: its code is compiled or taken from the cache, linked, and held against what its manifest declares. That
//! happens at the first call into it, so a process pays for the plugins that it calls.

use super::cache::Described;
use super::code::Introduction;
use super::compiler::{self, CompileFailure};
use super::load::LoadContext;
use super::loaded::{Plugin, Source};
use super::open_error::OpenError;
use std::sync::Arc;
use std::time::Instant;

impl Plugin {
    /// Whether it was opened and can be called.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.opened.get(), Some(Ok(())))
    }

    /// Why it cannot be called, if that is known.
    pub fn open_error(&self) -> Option<&OpenError> {
        self.opened.get()?.as_ref().err()
    }
}

/// Opens the plugin, unless it is open.
///
/// # Errors
///
/// Why it cannot be called. Unless it passes, the answer is the same from then on.
pub async fn open(with: &LoadContext<'_>, plugin: &Arc<Plugin>) -> Result<(), OpenError> {
    let opened = plugin.opened.get_or_try_init(|| async {
        match open_now(with, plugin).await {
            Err(error) if error.is_passing => Err(error),
            opened => Ok(opened),
        }
    });
    opened.await?.clone()
}

async fn open_now(with: &LoadContext<'_>, plugin: &Arc<Plugin>) -> Result<(), OpenError> {
    let began = Instant::now();
    link(with, plugin).await?;
    // The program's own are what they say: they were built with it.
    if plugin.source != Source::Embedded && Described::read(with.cache, plugin).is_none() {
        query_exports(with, plugin).await?;
    }
    tracing::debug!("plugin `{}` is opened after {} µs", plugin.name, began.elapsed().as_micros());
    Ok(())
}

/// Asks the plugin what it is, and keeps the answer if it is what its manifest declares.
pub(super) async fn query_exports(with: &LoadContext<'_>, plugin: &Arc<Plugin>) -> Result<Introduction, OpenError> {
    link(with, plugin).await?;
    tracing::debug!("plugin `{}` is asked what it is", plugin.name);
    let check = |answer: &Introduction| plugin.check_answer(answer);
    let answer = with.query.query(plugin, plugin.asked.checked_by(&plugin.manifest), &check).await;
    let answer = answer.map_err(OpenError::from)?;
    if !plugin.is_dynamic() {
        Described::keep(with.cache, plugin, &answer);
    }
    Ok(answer)
}

/// Links the plugin's code.
async fn link(with: &LoadContext<'_>, plugin: &Arc<Plugin>) -> Result<(), OpenError> {
    if plugin.code.get().is_some() {
        return Ok(());
    }
    let _compiling = plugin.compiling.lock().await;
    let component = match plugin.source {
        Source::Embedded => compiler::embedded(with.engines, with.cache, plugin, with.compiles_quickly).await,
        _ => compiler::component(with.engines, with.cache, &with.config.program, plugin).await,
    };
    let component = component.map_err(|failure| refused(&failure))?;
    let linked = with.linker.link(&component).map_err(|error| OpenError::load(&format!("{error:#}")))?;
    let _ = plugin.code.set(linked);
    plugin.bytes.drop_held();
    Ok(())
}

/// Compiles the plugin in a child process, unless its code is kept: for the background, so that the first call into it need
/// not wait. A plugin that was never opened is opened, so that what is wrong with it is known.
///
/// # Errors
///
/// Why it cannot be called.
pub async fn prepare(with: &LoadContext<'_>, plugin: &Arc<Plugin>) -> Result<(), OpenError> {
    if plugin.opened.get().is_some() {
        return Ok(());
    }
    if plugin.source != Source::Embedded && Described::read(with.cache, plugin).is_none() {
        return open(with, plugin).await;
    }
    let _compiling = plugin.compiling.lock().await;
    let prepared = compiler::prepare(with.engines, with.cache, &with.config.program, plugin).await;
    if prepared.map_err(|failure| refused(&failure))? {
        plugin.bytes.drop_held();
    }
    Ok(())
}

/// Why it does not compile, with what helps where that is known.
fn refused(failure: &CompileFailure) -> OpenError {
    let reason = match failure.reason.contains("requires the component model async") {
        true => "it uses the async ABI of the Component Model, which this host does not have: build it without (`--sync` of componentize-qjs, no `async` in wit-bindgen)".to_owned(),
        false => format!("it does not compile: {}", failure.reason),
    };
    OpenError::load(&reason).passing(failure.is_passing)
}
