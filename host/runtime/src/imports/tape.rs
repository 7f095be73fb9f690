//! `bub:tape/tape`: the tapes that a guest has been handed.

mod access;
mod convert;
mod cursor;
mod writing;

use crate::guest::State;
use crate::guest::bindings::entries;
use crate::guest::bindings::entries::{Draft, Entry, Forgotten, Hit, Info};
use crate::guest::bindings::tape::{Host, HostTape};
use crate::guest::handles::{Cursor, TapeHandle};
use crate::hooks;
use crate::turn::DenialReason;
use bub_permissions::Grant;
use bub_types::{Error, Principal};
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::Resource;

use access::forget_again;
pub use convert::{attach, current, from_query, into_entries, into_hits, into_info};
use convert::{into_entry, weight};
use writing::prepared;

/// The longest zone that crosses, in bytes.
const MAX_SECTION: usize = 4 << 20;

/// Texts that are forgotten at once, and the characters that one has at least: a shorter one stands nearly everywhere.
const MAX_TEXTS: usize = 256;
const SHORTEST_TEXT: usize = 3;

/// Entries that cross at once, whatever a guest asks for.
pub const MAX_BATCH: u32 = 256;

/// How deep forks of forks may go, the turn's own included: a read passes through all of them.
const MAX_FORKS: usize = 8;

impl Host for State {}
impl entries::Host for State {}

impl HostTape for State {
    async fn name(&mut self, handle: Resource<TapeHandle>) -> Result<String> {
        Ok(self.table.get(&handle)?.tape.name().to_owned())
    }

    async fn info(&mut self, handle: Resource<TapeHandle>) -> Result<Result<Info, Error>> {
        let (tape, _) = self.tape_of(&handle)?;
        Ok(tape.info().await.map(into_info).map_err(Error::from))
    }

    async fn append(&mut self, handle: Resource<TapeHandle>, drafts: Vec<Draft>) -> Result<Result<u64, Error>> {
        let handle = self.handle_of(&handle)?;
        handle.turn.charge_memory(weight(&handle.turn, &drafts))?;
        Ok(match prepared(&handle, self.signed(&handle, drafts)).await {
            Ok(drafts) => {
                let outcome = handle.tape.append(drafts.clone()).await;
                forget_again(&handle, self.written(&handle, outcome), &drafts).await
            }
            Err(error) => Err(error),
        })
    }

    async fn append_if(
        &mut self,
        handle: Resource<TapeHandle>,
        last: u64,
        drafts: Vec<Draft>,
    ) -> Result<Result<u64, Error>> {
        let handle = self.handle_of(&handle)?;
        handle.turn.charge_memory(weight(&handle.turn, &drafts))?;
        Ok(match prepared(&handle, self.signed(&handle, drafts)).await {
            Ok(drafts) => {
                let outcome = handle.tape.append_direct(last, drafts.clone()).await;
                forget_again(&handle, self.written(&handle, outcome), &drafts).await
            }
            Err(error) => Err(error),
        })
    }

    async fn handoff(
        &mut self,
        handle: Resource<TapeHandle>,
        name: String,
        state: Option<String>,
    ) -> Result<Result<u64, Error>> {
        let handle = self.handle_of(&handle)?;
        // It stands there twice: in the anchor and in the event that says so.
        handle.turn.charge_memory(2 * (name.len() + state.as_ref().map_or(0, String::len)))?;
        let drafts = match bub_tape::handoff(&name, state.as_deref()) {
            Ok(drafts) => drafts,
            Err(error) => return Ok(Err(error.into())),
        };
        let drafts = drafts.iter().map(|draft| Draft {
            kind: draft.kind().to_owned(),
            payload: draft.payload().to_owned(),
            meta: draft.meta().to_owned(),
        });
        Ok(match prepared(&handle, self.signed(&handle, drafts.collect())).await {
            Ok(drafts) => {
                let outcome = handle.tape.append(drafts).await;
                self.written(&handle, outcome)
            }
            Err(error) => Err(error),
        })
    }

    async fn query(
        &mut self,
        handle: Resource<TapeHandle>,
        query: entries::Query,
    ) -> Result<Result<Resource<Cursor>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        self.has_read = true;
        match tape.cursor(&from_query(query)).await {
            Ok(cursor) => Ok(Ok(self.table.push(Cursor { cursor, turn })?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn search(
        &mut self,
        handle: Resource<TapeHandle>,
        search: entries::Search,
    ) -> Result<Result<Vec<Hit>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        let search = bub_tape::Search {
            text: search.text,
            kinds: search.kinds,
            since: search.since,
            until: search.until,
            limit: search.limit.min(MAX_BATCH) as usize,
            patience: search.patience.map(|patience| Duration::from_millis(patience.into())),
            current: match current(&tape).await {
                Ok(current) => current,
                Err(error) => return Ok(Err(error.into())),
            },
            ..bub_tape::Search::default()
        };
        self.has_read = true;
        let hits = tape.search(&search).await.inspect(|hits| {
            hits.iter().for_each(|hit| turn.reads(&tape, std::slice::from_ref(&hit.entry)));
        });
        Ok(hits.map(|hits| into_hits(&turn, hits)).map_err(Error::from))
    }

    async fn tail(
        &mut self,
        handle: Resource<TapeHandle>,
        before: Option<u64>,
        max: u32,
    ) -> Result<Result<Vec<Entry>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        self.has_read = true;
        let entries = tape.tail(before, max.min(MAX_BATCH) as usize).await.inspect(|found| turn.reads(&tape, found));
        Ok(entries.map(|entries| into_entries(&turn, entries)).map_err(Error::from))
    }

    async fn last_anchor(
        &mut self,
        handle: Resource<TapeHandle>,
        name: Option<String>,
        before: Option<u64>,
    ) -> Result<Result<Option<Entry>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        self.has_read = true;
        let anchor = tape.last_anchor(name.as_deref(), before).await;
        let anchor = anchor.inspect(|anchor| turn.reads(&tape, anchor.as_slice()));
        Ok(anchor.map(|entry| entry.map(|entry| into_entry(&turn, entry))).map_err(Error::from))
    }

    async fn section(&mut self, handle: Resource<TapeHandle>, name: String) -> Result<Result<Vec<Entry>, Error>> {
        let (tape, turn) = self.tape_of(&handle)?;
        self.has_read = true;
        Ok(match tape.section(&name).await {
            Ok(entries) if entries.iter().map(|entry| entry.payload.len()).sum::<usize>() > MAX_SECTION => {
                Err(Error::invalid(format!("the section `{name}` holds more than {MAX_SECTION} bytes")))
            }
            Ok(entries) => Ok(into_entries(&turn, entries)),
            Err(error) => Err(error.into()),
        })
    }

    async fn forget(
        &mut self,
        handle: Resource<TapeHandle>,
        texts: Vec<String>,
        dry_run: bool,
    ) -> Result<Result<Forgotten, Error>> {
        if let Err(refusal) = self.granted(&Grant::TAPE_APPEND) {
            return Ok(Err(refusal));
        }
        let handle = self.handle_of(&handle)?;
        if handle.turn.principal() != Principal::Owner {
            let refusal = Error::denied("only the owner can have the conversation forget something");
            return Ok(Err(self.denied(DenialReason::Policy, Grant::TAPE_APPEND.as_str(), refusal)));
        }
        if texts.len() > MAX_TEXTS || texts.iter().any(|text| text.trim().chars().count() < SHORTEST_TEXT) {
            let message = format!(
                "what is to be forgotten are at most {MAX_TEXTS} texts of {SHORTEST_TEXT} characters or more each"
            );
            return Ok(Err(Error::invalid(message)));
        }
        handle.turn.charge_memory(texts.iter().map(String::len).sum())?;
        let forgot = handle.turn.forget(&handle.tape, handle.is_shared, &texts, dry_run).await;
        if forgot.is_ok() && !dry_run {
            super::recall::forget(&handle.turn, texts).await;
        }
        Ok(self.written(&handle, forgot).map(|forgot| Forgotten { entries: forgot.entries, tapes: forgot.tapes }))
    }

    async fn fork(&mut self, handle: Resource<TapeHandle>) -> Result<Result<Resource<TapeHandle>, Error>> {
        let handle = self.handle_of(&handle)?;
        if handle.tape.depth() >= MAX_FORKS {
            return Ok(Err(Error::invalid(format!("forks of forks may go {MAX_FORKS} deep, no deeper"))));
        }
        let fork = handle.beside(handle.tape.fork());
        Ok(Ok(self.table.push(fork)?))
    }

    async fn merge(&mut self, handle: Resource<TapeHandle>) -> Result<Result<(), Error>> {
        let handle = self.handle_of(&handle)?;
        if handle.turn.owns(&handle.tape) {
            return Ok(Err(Error::invalid("the turn's own tape is merged by the host, when the turn ends")));
        }
        let outcome = handle.tape.merge().await;
        if handle.turn.is_tape(&handle.tape) {
            handle.turn.forget_written_taint(false);
        }
        Ok(self.written(&handle, outcome))
    }

    async fn reset(&mut self, handle: Resource<TapeHandle>, archive: bool) -> Result<Result<Option<String>, Error>> {
        if let Err(refusal) = self.granted(&Grant::TAPE_RESET) {
            return Ok(Err(refusal));
        }
        let handle = self.handle_of(&handle)?;
        if let Err(refusal) = handle.may_change() {
            return Ok(Err(self.denied(DenialReason::Policy, Grant::TAPE_WORKSPACE.as_str(), refusal)));
        }
        // A hook that empties the tape itself would be asked for ever.
        let depth = match self.check_depth() {
            Ok(depth) => depth,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let attachments = match handle.turn.owns(&handle.tape) {
            true => hooks::before_reset(&handle.turn, depth, archive).await,
            false => Vec::new(),
        };
        let outcome = handle.tape.reset(archive).await;
        if handle.turn.is_tape(&handle.tape) {
            handle.turn.forget_written_taint(true);
        }
        if outcome.is_ok() && handle.turn.owns(&handle.tape) {
            handle.turn.remove_recordings();
        }
        let archived = match self.written(&handle, outcome) {
            Ok(archived) => archived,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(archive) = &archived {
            attach(&self.host.config.tapes_dir(), archive, &attachments);
        }
        Ok(Ok(archived))
    }

    async fn sidecar(
        &mut self,
        handle: Resource<TapeHandle>,
        name: String,
    ) -> Result<Result<Resource<TapeHandle>, Error>> {
        if let Err(refusal) = self.owns_sidecar(&name) {
            return Ok(Err(refusal));
        }
        let handle = self.handle_of(&handle)?;
        match handle.tape.sidecar(&name) {
            Ok(sidecar) => {
                let sidecar = handle.beside(sidecar);
                Ok(Ok(self.table.push(sidecar)?))
            }
            Err(error) => Ok(Err(error.into())),
        }
    }

    async fn drop(&mut self, handle: Resource<TapeHandle>) -> Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }
}
