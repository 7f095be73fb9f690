//! The turn, its stages and turns inside of it.

use super::{Imported, imported};
use crate::guest::bindings::stages::SelectorList;
use crate::guest::bindings::subturn::Request;
use crate::guest::bindings::{stages, subturn, turn};
use crate::guest::handles::{TapeHandle, TurnHandle};
use bub_types::{Envelope, Error, MessageKind, ModelOptions, Principal, Prompt, StreamEvent};
use wasmtime::component::Resource;

impl turn::Host for Imported<'_> {}

imported! {
    "bub:turn/turn" in turn::HostTurn, drops given TurnHandle {
        new_run_id(turn: Resource<TurnHandle>) -> String;
        session_id(turn: Resource<TurnHandle>) -> String;
        workspace(turn: Resource<TurnHandle>) -> String;
        workspace_instructions(turn: Resource<TurnHandle>, name: String) -> Option<String>;
        message(turn: Resource<TurnHandle>) -> Envelope;
        set_message_kind(turn: Resource<TurnHandle>, kind: MessageKind) -> ();
        principal(turn: Resource<TurnHandle>) -> Principal;
        tainted(turn: Resource<TurnHandle>) -> bool;
        started(turn: Resource<TurnHandle>) -> String;
        get(turn: Resource<TurnHandle>, key: String) -> Option<String>;
        set(turn: Resource<TurnHandle>, key: String, value: String) -> Result<(), Error>;
        state(turn: Resource<TurnHandle>) -> String;
        tape(turn: Resource<TurnHandle>) -> Result<Resource<TapeHandle>, Error>;
        workspace_tape(turn: Resource<TurnHandle>) -> Result<Resource<TapeHandle>, Error>;
        emit(turn: Resource<TurnHandle>, event: StreamEvent) -> Result<(), Error>;
    }
}

imported! {
    "bub:turn/stages" in stages::Host {
        system_prompt(turn: Resource<TurnHandle>, prompt: Prompt) -> Result<String, Error>;
        messages(turn: Resource<TurnHandle>, prompt: Prompt, system_prompt: String, new: Vec<String>, model: Option<String>) -> Result<Vec<String>, Error>;
        selectors(turn: Resource<TurnHandle>) -> Result<SelectorList, Error>;
        steering(turn: Resource<TurnHandle>) -> Result<Vec<Prompt>, Error>;
        continue_prompt(turn: Resource<TurnHandle>, prompt: Prompt) -> Result<Option<String>, Error>;
        model_options(turn: Resource<TurnHandle>) -> Result<ModelOptions, Error>;
    }
}

imported! {
    "bub:turn/subturn" in subturn::Host {
        run(turn: Resource<TurnHandle>, request: Request) -> Result<String, Error>;
    }
}
