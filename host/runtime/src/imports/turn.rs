//! `bub:turn/turn`: the turn in progress.

use crate::guest::State;
use crate::guest::bindings::turn::{Host, HostTurn};
use crate::guest::handles::{TapeHandle, TurnHandle};
use crate::hooks;
use crate::plugin::{check_json, parse_json};
use crate::turn::{DenialReason, TaintSource, Turn};
use bub_permissions::Grant;
use bub_types::hook::Hook;
use bub_types::{Envelope, Error, ErrorKind, MessageKind, Principal, StreamEvent};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use wasmtime::Result;
use wasmtime::component::Resource;

/// The largest value of a key of the turn's state, in bytes.
const MAX_VALUE: usize = 1 << 20;

/// The longest key of the turn's state, in bytes.
const MAX_KEY: usize = 256;

/// The file of a workspace that speaks to agents, and how much of it is read, in bytes.
const AGENTS_FILE: &str = "AGENTS.md";
const MAX_AGENTS_FILE: u64 = 64 << 10;

impl Host for State {}

impl State {
    pub(super) fn turn_of(&self, handle: &Resource<TurnHandle>) -> Result<Arc<Turn>> {
        Ok(self.table.get(handle)?.0.clone())
    }
}

impl HostTurn for State {
    async fn new_run_id(&mut self, turn: Resource<TurnHandle>) -> Result<String> {
        Ok(self.turn_of(&turn)?.new_run_id())
    }

    async fn session_id(&mut self, turn: Resource<TurnHandle>) -> Result<String> {
        Ok(self.turn_of(&turn)?.session_id.clone())
    }

    async fn workspace(&mut self, turn: Resource<TurnHandle>) -> Result<String> {
        Ok(self.turn_of(&turn)?.workspace.to_string_lossy().into_owned())
    }

    async fn workspace_instructions(&mut self, turn: Resource<TurnHandle>, name: String) -> Result<Option<String>> {
        if name != AGENTS_FILE {
            return Ok(None);
        }
        let turn = self.turn_of(&turn)?;
        let text = agents_text(&turn.workspace, &self.host.config.home);
        if text.is_some() && !self.host.config.trusts(&turn.workspace) {
            turn.taint(TaintSource::workspace(&turn.workspace), || {
                "AGENTS.md of this untrusted workspace is in the conversation".to_owned()
            });
        }
        Ok(text)
    }

    async fn message(&mut self, turn: Resource<TurnHandle>) -> Result<Envelope> {
        Ok(self.turn_of(&turn)?.envelope())
    }

    async fn set_message_kind(&mut self, turn: Resource<TurnHandle>, kind: MessageKind) -> Result<()> {
        self.turn_of(&turn)?.set_kind(kind);
        Ok(())
    }

    async fn principal(&mut self, turn: Resource<TurnHandle>) -> Result<Principal> {
        Ok(self.turn_of(&turn)?.principal())
    }

    async fn tainted(&mut self, turn: Resource<TurnHandle>) -> Result<bool> {
        Ok(self.turn_of(&turn)?.tainted().is_some())
    }

    async fn started(&mut self, turn: Resource<TurnHandle>) -> Result<String> {
        Ok(self.turn_of(&turn)?.started.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }

    async fn get(&mut self, turn: Resource<TurnHandle>, key: String) -> Result<Option<String>> {
        Ok(self.turn_of(&turn)?.get(&key).map(|value| value.to_string()))
    }

    async fn set(&mut self, turn: Resource<TurnHandle>, key: String, value: String) -> Result<Result<(), Error>> {
        let turn = self.turn_of(&turn)?;
        turn.charge_memory(key.len() + value.len())?;
        Ok(set(&turn, key, &value).map_err(|error| match error.kind {
            ErrorKind::Denied => self.denied(DenialReason::Reserved, "", error),
            _ => error,
        }))
    }

    async fn state(&mut self, turn: Resource<TurnHandle>) -> Result<String> {
        Ok(serde_json::to_string(&*self.turn_of(&turn)?.state())?)
    }

    async fn tape(&mut self, turn: Resource<TurnHandle>) -> Result<Result<Resource<TapeHandle>, Error>> {
        if let Err(refusal) = self.granted(&Grant::TAPE_READ) {
            return Ok(Err(refusal));
        }
        let turn = self.turn_of(&turn)?;
        match turn.tape().await {
            Ok(tape) => Ok(Ok(self.table.push(TapeHandle::new(tape, turn))?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn workspace_tape(&mut self, turn: Resource<TurnHandle>) -> Result<Result<Resource<TapeHandle>, Error>> {
        if let Err(refusal) = self.granted(&Grant::TAPE_WORKSPACE) {
            return Ok(Err(refusal));
        }
        let turn = self.turn_of(&turn)?;
        match turn.workspace_tape() {
            Ok(tape) => Ok(Ok(self.table.push(TapeHandle::shared(tape, turn))?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn emit(&mut self, turn: Resource<TurnHandle>, event: StreamEvent) -> Result<Result<(), Error>> {
        let turn = self.turn_of(&turn)?;
        if self.call != Hook::RunModelStream || !turn.is_streaming(&self.plugin.name) {
            let error = Error::denied("only the model hook that is asked may emit events");
            return Ok(Err(self.denied(DenialReason::Reserved, "", error)));
        }
        if let StreamEvent::ToolResults(json) | StreamEvent::Usage(json) | StreamEvent::Final(json) = &event
            && let Err(reason) = check_json(json)
        {
            return Ok(Err(Error::invalid(format!("the event is {reason}"))));
        }
        if let StreamEvent::Error(error) = &event {
            let message = turn.envelope();
            hooks::notify_observers(&turn.scope, Some(&turn), "run_model", error, Some(&message)).await;
        }
        turn.charge_memory(weight(&event))?;
        turn.record_stream_event(&event);
        Ok(turn.emit(event).await)
    }

    async fn drop(&mut self, turn: Resource<TurnHandle>) -> Result<()> {
        self.table.delete(turn)?;
        Ok(())
    }
}

/// The bytes of an event that the turn keeps.
fn weight(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Text(text) => text.len(),
        _ => 0,
    }
}

fn set(turn: &Turn, key: String, value: &str) -> Result<(), Error> {
    if key.len() > MAX_KEY {
        return Err(Error::invalid(format!("a state key has more than {MAX_KEY} bytes")));
    }
    if hooks::host_owned(&key) {
        return Err(Error::denied(format!("the state key `{key}` is the host's")));
    }
    if value.len() > MAX_VALUE {
        return Err(Error::invalid(format!("the value of `{key}` has more than {MAX_VALUE} bytes")));
    }
    let value = parse_json(value).map_err(|reason| Error::invalid(format!("the value of `{key}` is {reason}")))?;
    turn.set(key, value);
    turn.changed();
    Ok(())
}

/// The text of the workspace's `AGENTS.md`, if it is a file of that workspace. A link that leads out of it, to the
/// user's keys for one, is not followed.
fn agents_text(workspace: &Path, home: &Path) -> Option<String> {
    let path = workspace.join(AGENTS_FILE).canonicalize().ok()?;
    if !path.starts_with(workspace) || path.starts_with(home.canonicalize().ok()?) {
        return None;
    }
    // A pipe would be waited for, and a device read for ever.
    let file = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let file = File::from(file);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_AGENTS_FILE).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
