//! `bub:model/sink`: where a provider puts what it produces.

use crate::guest::State;
use crate::guest::bindings::exchange;
use crate::guest::bindings::sink::{Host, HostSink};
use crate::guest::handles::Sink;
use crate::plugin::check_json;
use bub_types::Error;
use wasmtime::Result;
use wasmtime::component::Resource;

impl Host for State {}

impl HostSink for State {
    async fn send(&mut self, sink: Resource<Sink>, event: exchange::Event) -> Result<Result<(), Error>> {
        if let exchange::Event::Usage(usage) = &event
            && let Err(reason) = check_json(usage)
        {
            return Ok(Err(Error::invalid(format!("the usage is {reason}"))));
        }
        let sender = self.table.get(&sink)?.0.clone();
        Ok(sender.send(super::chat::from_guest(event)).await.map_err(|_| Error::cancelled()))
    }

    async fn drop(&mut self, sink: Resource<Sink>) -> Result<()> {
        self.table.delete(sink)?;
        Ok(())
    }
}
