//! `bub:context/view` as a guest calls it.

use crate::guest::State;
use crate::guest::bindings::entries;
use crate::guest::bindings::entries::Hit;
use crate::guest::bindings::view::{Host, HostView, WrittenPart};
use crate::guest::handles::TapeHandle;
use crate::guest::view::View;
use crate::imports::tape::{MAX_BATCH, current, from_query, into_entries, into_hits, into_info};
use bub_tape::Search;
use bub_types::ToolSpec;
use bub_types::{Error, ErrorKind, Prompt};
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::Resource;

/// Ids that cross at once.
const MAX_IDS: u32 = 4_096;

/// How long a selector may wait for what it looks up, at most.
const MAX_TIMEOUT: Duration = Duration::from_secs(5);

impl Host for State {}

impl HostView for State {
    async fn next(&mut self, view: Resource<View>, max: u32) -> Result<Result<Vec<entries::Entry>, Error>> {
        let view = self.table.get_mut(&view)?;
        let batch = view.forward(max.min(MAX_BATCH) as usize).await;
        Ok(batch.map(|batch| into_entries(&view.turn, batch)).map_err(Error::from))
    }

    async fn next_ids(&mut self, view: Resource<View>, max: u32) -> Result<Result<Vec<u64>, Error>> {
        let view = self.table.get_mut(&view)?;
        Ok(view.forward_unseen(max.min(MAX_IDS) as usize).await.map_err(Error::from))
    }

    async fn tail(
        &mut self,
        view: Resource<View>,
        before: Option<u64>,
        max: u32,
    ) -> Result<Result<Vec<entries::Entry>, Error>> {
        let view = self.table.get(&view)?.clone();
        let batch = view.backward(before, max.min(MAX_BATCH) as usize).await;
        Ok(batch.map(|batch| into_entries(&view.turn, batch)).map_err(Error::from))
    }

    async fn search(
        &mut self,
        view: Resource<View>,
        text: String,
        max: u32,
        timeout_ms: u32,
    ) -> Result<Result<Vec<Hit>, Error>> {
        let View { tape, turn, .. } = self.table.get(&view)?.clone();
        let current = match current(&tape).await {
            Ok(current) => current,
            Err(error) => return Ok(Err(error.into())),
        };
        let search = Search {
            current,
            text,
            limit: max.min(MAX_BATCH) as usize,
            patience: Some(Duration::from_millis(timeout_ms.into())),
            ..Search::default()
        };
        Ok(tape.search(&search).await.map(|hits| into_hits(&turn, hits)).map_err(Error::from))
    }

    async fn query(
        &mut self,
        view: Resource<View>,
        sidecar: Option<String>,
        query: entries::Query,
        max: u32,
        timeout_ms: u32,
    ) -> Result<Result<Vec<entries::Entry>, Error>> {
        let View { tape, turn, .. } = self.table.get(&view)?.clone();
        let tape = match sidecar {
            None => tape,
            Some(name) => match self.owns_sidecar(&name).and_then(|()| Ok(tape.sidecar(&name)?)) {
                Ok(sidecar) => sidecar,
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        let timeout = Duration::from_millis(timeout_ms.into()).min(MAX_TIMEOUT);
        let found = tokio::time::timeout(timeout, async {
            tape.cursor(&from_query(query)).await?.next(max.min(MAX_BATCH) as usize).await
        });
        Ok(match found.await {
            Ok(found) => found.map(|found| into_entries(&turn, found)).map_err(Error::from),
            Err(_) => Err(Error::new(ErrorKind::Temporary, format!("it was not there within {timeout_ms} ms"))),
        })
    }

    async fn sidecar(&mut self, view: Resource<View>, name: String) -> Result<Result<Resource<TapeHandle>, Error>> {
        if let Err(refusal) = self.owns_sidecar(&name) {
            return Ok(Err(refusal));
        }
        let view = self.table.get(&view)?;
        match view.tape.sidecar(&name) {
            Ok(sidecar) => {
                let handle = TapeHandle::new(sidecar, view.turn.clone());
                Ok(Ok(self.table.push(handle)?))
            }
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn info(&mut self, view: Resource<View>) -> Result<entries::Info> {
        let tape = self.table.get(&view)?.tape.clone();
        Ok(into_info(tape.info().await.map_err(wasmtime::Error::new)?))
    }

    async fn prompt(&mut self, view: Resource<View>) -> Result<Prompt> {
        Ok(self.table.get(&view)?.about.prompt.clone())
    }

    async fn system_prompt(&mut self, view: Resource<View>) -> Result<String> {
        Ok(self.table.get(&view)?.about.system.text.to_string())
    }

    async fn system_parts(&mut self, view: Resource<View>) -> Result<Vec<WrittenPart>> {
        let parts = &self.table.get(&view)?.about.system.parts;
        let written =
            |part: &crate::turn::WrittenPart| WrittenPart { plugin: part.plugin.clone(), part: part.part.clone() };
        Ok(parts.iter().map(written).collect())
    }

    async fn model(&mut self, view: Resource<View>) -> Result<String> {
        Ok(self.table.get(&view)?.about.model.clone())
    }

    async fn budget(&mut self, view: Resource<View>) -> Result<Option<u32>> {
        let view = self.table.get(&view)?;
        let room = self.host.config.input_budget(&view.about.model);
        // The limit that the agent loop learned from a provider that refused a longer request.
        let learned = view.turn.get("context_room").and_then(|room| u32::try_from(room.as_u64()?).ok());
        Ok(room.into_iter().chain(learned).min())
    }

    async fn token_calibration(&mut self, view: Resource<View>) -> Result<f64> {
        let view = self.table.get(&view)?;
        Ok(view.turn.token_calibration(&view.about.model).value())
    }

    async fn turn_start_id(&mut self, view: Resource<View>) -> Result<u64> {
        Ok(self.table.get(&view)?.turn.began())
    }

    async fn new_messages(&mut self, view: Resource<View>) -> Result<Vec<String>> {
        Ok(self.table.get(&view)?.about.new_messages.clone())
    }

    async fn replace_new_messages(&mut self, view: Resource<View>, messages: Vec<String>) -> Result<Result<(), Error>> {
        let view = self.table.get(&view)?.clone();
        view.turn.charge_memory(messages.iter().map(String::len).sum())?;
        Ok(view.replace_new_messages(messages))
    }

    async fn tools(&mut self, view: Resource<View>) -> Result<Vec<ToolSpec>> {
        Ok(self.table.get(&view)?.about.tools.iter().map(|tool| ToolSpec::clone(tool)).collect())
    }

    async fn state(&mut self, view: Resource<View>, key: String) -> Result<Option<String>> {
        Ok(self.table.get(&view)?.turn.get(&key).map(|value| value.to_string()))
    }

    async fn drop(&mut self, view: Resource<View>) -> Result<()> {
        self.table.delete(view)?;
        Ok(())
    }
}
