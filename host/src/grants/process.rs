//! `bub:process/process`. Nothing is started yet, whatever is granted.

use crate::plugin::bindings::Error;
use crate::plugin::bindings::process::{Host, HostChild, Output};
use crate::plugin::store::State;
use std::convert::Infallible;
use wasmtime::Result;
use wasmtime::component::Resource;

/// A program that runs. None can be made, so no handle of one can be used.
pub struct Child(Infallible);

impl Host for State {
    async fn spawn(&mut self, _command: String, _directory: Option<String>) -> Result<Result<Resource<Child>, Error>> {
        Ok(Err(self.no_process()))
    }

    async fn find(&mut self, _id: String) -> Result<Result<Resource<Child>, Error>> {
        Ok(Err(self.no_process()))
    }
}

impl State {
    fn no_process(&self) -> Error {
        match self.granted("process") {
            Err(refusal) => refusal,
            Ok(()) => Error::denied("this version starts no programs for plugins"),
        }
    }
}

impl HostChild for State {
    async fn id(&mut self, child: Resource<Child>) -> Result<String> {
        match self.table.get(&child)?.0 {}
    }

    async fn wait(&mut self, child: Resource<Child>, _timeout_ms: u64) -> Result<Result<Output, Error>> {
        match self.table.get(&child)?.0 {}
    }

    async fn read(&mut self, child: Resource<Child>, _offset: u64, _max: u32) -> Result<Result<Output, Error>> {
        match self.table.get(&child)?.0 {}
    }

    async fn kill(&mut self, child: Resource<Child>) -> Result<Result<(), Error>> {
        match self.table.get(&child)?.0 {}
    }

    async fn drop(&mut self, child: Resource<Child>) -> Result<()> {
        self.table.delete(child)?;
        Ok(())
    }
}
