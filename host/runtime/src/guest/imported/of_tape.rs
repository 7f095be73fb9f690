//! Tapes, views and recall.

use super::{Imported, imported};
use crate::guest::bindings::entries::{Draft, Entry, Forgotten, Hit, Info, Query, Search};
use crate::guest::bindings::recall::{Answer, Options};
use crate::guest::bindings::view::WrittenPart;
use crate::guest::bindings::{entries, recall, tape, view};
use crate::guest::handles::{Cursor, TapeHandle};
use crate::guest::view::View;
use bub_types::{Error, Prompt, ToolSpec};
use wasmtime::component::Resource;

impl tape::Host for Imported<'_> {}
impl entries::Host for Imported<'_> {}
impl view::Host for Imported<'_> {}

imported! {
    "bub:tape/tape" in tape::HostTape, drops played TapeHandle {
        name(handle: Resource<TapeHandle>) -> String;
        info(handle: Resource<TapeHandle>) -> Result<Info, Error>;
        append(handle: Resource<TapeHandle>, drafts: Vec<Draft>) -> Result<u64, Error>;
        append_if(handle: Resource<TapeHandle>, last: u64, drafts: Vec<Draft>) -> Result<u64, Error>;
        handoff(handle: Resource<TapeHandle>, name: String, state: Option<String>) -> Result<u64, Error>;
        query(handle: Resource<TapeHandle>, query: Query) -> Result<Resource<Cursor>, Error>;
        search(handle: Resource<TapeHandle>, search: Search) -> Result<Vec<Hit>, Error>;
        tail(handle: Resource<TapeHandle>, before: Option<u64>, max: u32) -> Result<Vec<Entry>, Error>;
        last_anchor(handle: Resource<TapeHandle>, name: Option<String>, before: Option<u64>) -> Result<Option<Entry>, Error>;
        section(handle: Resource<TapeHandle>, name: String) -> Result<Vec<Entry>, Error>;
        forget(handle: Resource<TapeHandle>, texts: Vec<String>, dry_run: bool) -> Result<Forgotten, Error>;
        fork(handle: Resource<TapeHandle>) -> Result<Resource<TapeHandle>, Error>;
        merge(handle: Resource<TapeHandle>) -> Result<(), Error>;
        reset(handle: Resource<TapeHandle>, archive: bool) -> Result<Option<String>, Error>;
        sidecar(handle: Resource<TapeHandle>, name: String) -> Result<Resource<TapeHandle>, Error>;
    }
}

imported! {
    "bub:tape/tape.cursor" in tape::HostCursor, drops played Cursor {
        next(cursor: Resource<Cursor>, max: u32) -> Result<Vec<Entry>, Error>;
    }
}

imported! {
    "bub:context/view" in view::HostView, drops given View {
        next(view: Resource<View>, max: u32) -> Result<Vec<Entry>, Error>;
        next_ids(view: Resource<View>, max: u32) -> Result<Vec<u64>, Error>;
        tail(view: Resource<View>, before: Option<u64>, max: u32) -> Result<Vec<Entry>, Error>;
        search(view: Resource<View>, text: String, max: u32, timeout_ms: u32) -> Result<Vec<Hit>, Error>;
        query(view: Resource<View>, sidecar: Option<String>, query: Query, max: u32, timeout_ms: u32) -> Result<Vec<Entry>, Error>;
        sidecar(view: Resource<View>, name: String) -> Result<Resource<TapeHandle>, Error>;
        info(view: Resource<View>) -> Info;
        prompt(view: Resource<View>) -> Prompt;
        system_prompt(view: Resource<View>) -> String;
        system_parts(view: Resource<View>) -> Vec<WrittenPart>;
        model(view: Resource<View>) -> String;
        budget(view: Resource<View>) -> Option<u32>;
        token_calibration(view: Resource<View>) -> f64;
        turn_start_id(view: Resource<View>) -> u64;
        new_messages(view: Resource<View>) -> Vec<String>;
        replace_new_messages(view: Resource<View>, messages: Vec<String>) -> Result<(), Error>;
        tools(view: Resource<View>) -> Vec<ToolSpec>;
        state(view: Resource<View>, key: String) -> Option<String>;
    }
}

imported! {
    "bub:context/recall" in recall::Host {
        search(view: Resource<View>, question: String, options: Options) -> Result<Answer, Error>;
    }
}
