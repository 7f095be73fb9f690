//! Compiled code of a plugin with its exports, ready to be instantiated.

use super::bindings::Exports;
use super::state::State;
use crate::plugin::LinkedCode;
use std::any::Any;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Error, Result};

/// A component that is linked for one engine. Each engine numbers its exports anew.
pub(super) struct LinkedExports {
    pub(super) pre: InstancePre<State>,
    pub(super) exports: Exports,
}

impl LinkedExports {
    pub(super) fn new(linker: &Linker<State>, component: &Component) -> Result<Self> {
        let pre = linker.instantiate_pre(component)?;
        let exports = Exports::find(&pre)?;
        Ok(Self { pre, exports })
    }

    /// The code that a plugin carries. All of it was made by [`Self::new`].
    pub(super) fn from_code(code: &dyn LinkedCode) -> Result<&Self> {
        (code as &dyn Any).downcast_ref().ok_or_else(|| Error::msg("the plugin was linked by another host"))
    }
}

impl LinkedCode for LinkedExports {
    fn component(&self) -> &Component {
        self.pre.component()
    }
}
