//! Links components with everything that a guest may import.

use super::bindings::{Hookspecs, SERVED};
use super::imported::{Imported, Imports};
use super::linked::LinkedExports;
use super::state::State;
use super::wasi::guarded_files;
use crate::plugin::{CodeLinker, LinkedCode};
use parking_lot::RwLock;
use std::sync::Arc;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Result};

/// The linkers of all engines, each created when a component of its engine is linked for the first time.
#[derive(Default)]
pub(crate) struct ImportLinker(RwLock<Vec<Arc<Linker<State>>>>);

impl ImportLinker {
    fn of_engine(&self, engine: &Engine) -> Result<Arc<Linker<State>>> {
        let known = |linkers: &[Arc<Linker<State>>]| {
            linkers.iter().find(|linker| Engine::same(linker.engine(), engine)).map(Arc::clone)
        };
        if let Some(linker) = known(&self.0.read()) {
            return Ok(linker);
        }
        let mut linkers = self.0.write();
        if let Some(linker) = known(&linkers) {
            return Ok(linker);
        }
        let linker = Arc::new(linker(engine)?);
        linkers.push(Arc::clone(&linker));
        Ok(linker)
    }
}

impl CodeLinker for ImportLinker {
    fn link(&self, component: &Component) -> Result<Box<dyn LinkedCode>> {
        let linker = self.of_engine(component.engine())?;
        Ok(Box::new(LinkedExports::new(&linker, component)?))
    }

    fn served(&self) -> &'static [(&'static str, &'static str)] {
        SERVED
    }
}

fn linker(engine: &Engine) -> Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    guarded_files::add_to_linker(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    Hookspecs::add_to_linker::<State, Imports>(&mut linker, |state| Imported(state.counted()))?;
    Ok(linker)
}
