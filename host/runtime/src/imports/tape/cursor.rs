//! Positions in results.

use super::MAX_BATCH;
use super::convert::into_entries;
use crate::guest::State;
use crate::guest::bindings::entries::Entry;
use crate::guest::bindings::tape::HostCursor;
use crate::guest::handles::Cursor;
use bub_types::Error;
use wasmtime::Result;
use wasmtime::component::Resource;

impl HostCursor for State {
    async fn next(&mut self, cursor: Resource<Cursor>, max: u32) -> Result<Result<Vec<Entry>, Error>> {
        let Cursor { cursor, turn } = self.table.get_mut(&cursor)?;
        let entries = cursor.next(max.min(MAX_BATCH) as usize).await;
        let entries = entries.inspect(|found| turn.reads(cursor.tape(), found));
        Ok(entries.map(|entries| into_entries(turn, entries)).map_err(Error::from))
    }

    async fn drop(&mut self, cursor: Resource<Cursor>) -> Result<()> {
        self.table.delete(cursor)?;
        Ok(())
    }
}
