//! `bub:tape/store`: a plugin keeps the tapes. The meaning of its errors, faults and wrong answers is decided here: the
//! operation fails, with one line that names the plugin, and no other store is called in its place, because it would
//! hold other tapes under the same names.
//!
//! Where the plugin finds entries itself (`store-query`), what goes wrong there fails the query or search in the same way:
//! paging in its place would hide that the store is broken. Only a plugin that says that it cannot search is paged through.
//!
//! A call of the store has no turn: it sits behind the tape, where forks, recovery and the command line meet, and its
//! guest can reach no tool, no model and no other plugin from there. So it nests no deeper than one.

mod commit;
mod find;
mod keeper;
mod validate;

pub use keeper::{is_store_gone, tape_store};

use super::guest_call::guest_call;
use super::{Answer, call_one};
use crate::error::Failure;
use crate::guest::bindings::tape_exports::store as wit;
use crate::guest::bindings::tape_exports::store::Outcome as Written;
use crate::guest::{CallContext, GuestCall};
use crate::plugin::Plugin;
use crate::turn::CallScope;
use bub_permissions::Grant;
use bub_tape::{Candidates, Commit, Condition, Entry, Error, Future, Lookup, Outcome, Result, Store};
use bub_tape::{Hit, Query, Search, by_reading};
use bub_types::ErrorKind;
use bub_types::hook::Hook;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

const HOOK: Hook = Hook::Store;

/// Entries and names that are asked for at once.
const PAGE: u32 = 256;

/// Keeps tapes by asking a plugin, each time in an instance of its own.
struct GuestStore {
    scope: Arc<CallScope>,
    /// Or why there is none.
    keeper: std::result::Result<Arc<Plugin>, String>,
    /// The last ids as they were seen last: a hint, which the plugin refuses where it is wrong.
    lasts: Mutex<HashMap<String, u64>>,
}

impl GuestStore {
    /// Asks the plugin. `action` says what for, in the error; `tape` is what it is about, if it is about one.
    async fn ask<'c, T: Send>(
        &self,
        (action, tape): (&str, &str),
        ask: impl for<'a> FnOnce(GuestCall<'a, 'c>) -> Answer<'a, T> + Send,
    ) -> Result<T> {
        let refused = |reason: String| Error::Io { action: action.to_owned(), source: io::Error::other(reason) };
        let keeper = self.keeper.as_ref().map_err(|reason| refused(reason.clone()))?;
        // The set of plugins is the turn's; the grant is this moment's.
        if !self.scope.may_answer(keeper, HOOK) {
            return Err(refused(keeper.refusal(&Grant::hook(HOOK)).message));
        }
        match call_one(&self.scope, keeper, CallContext::about(HOOK, tape), ask).await {
            Ok(answer) => Ok(answer),
            Err(Failure::Hook { error, plugin, .. }) if error.kind == ErrorKind::InvalidInput => {
                let said = bub_types::text::one_line(&error.message);
                Err(Error::InvalidInput(format!("{action}: plugin `{plugin}`: {said}")))
            }
            Err(failure) => Err(refused(failure.to_string())),
        }
    }

    async fn write(&self, tape: &str, batches: &[wit::Batch], key: Option<&str>) -> Result<Written> {
        let ask = guest_call!(store.call_commit(batches, key), written => {
            validate::written(&written, batches.len())?;
            Ok(written)
        });
        self.ask((&format!("write tape `{tape}`"), tape), ask).await
    }

    async fn read_page(&self, tape: &str, after: u64, max: u32) -> Result<wit::Page> {
        let ask = guest_call!(store.call_read(tape, after, max), page => {
            validate::page(&page, max, after, None)?;
            Ok(page)
        });
        self.ask((&format!("read tape `{tape}`"), tape), ask).await
    }

    async fn tail_page(&self, tape: &str, before: Option<u64>, max: u32) -> Result<wit::Page> {
        let ask = guest_call!(store.call_tail(tape, before, max), page => {
            validate::page(&page, max, 0, before)?;
            Ok(page)
        });
        self.ask((&format!("read tape `{tape}`"), tape), ask).await
    }

    fn lasts(&self) -> parking_lot::MutexGuard<'_, HashMap<String, u64>> {
        self.lasts.lock()
    }

    fn seen_last(&self, tape: &str, last: u64) {
        self.lasts().insert(tape.to_owned(), last);
    }
}

/// How many to ask for, of so many that are still wanted.
fn page(wanted: usize) -> u32 {
    u32::try_from(wanted).unwrap_or(PAGE).min(PAGE)
}

fn from_page(page: wit::Page) -> impl DoubleEndedIterator<Item = Entry> {
    page.entries.into_iter().map(from_entry)
}

fn from_entry(entry: crate::guest::bindings::entries::Entry) -> Entry {
    let [kind, payload, meta, date] = [entry.kind, entry.payload, entry.meta, entry.date].map(Arc::from);
    Entry { id: entry.id, kind, payload, meta, date }
}

impl Store for GuestStore {
    /// The longest entry that comes back, in bytes: half of what may cross at once, since a text is counted where it is
    /// read and where it is kept.
    fn longest_entry(&self) -> usize {
        self.keeper.as_ref().map_or(0, |keeper| keeper.limits.output_bytes() / 2)
    }

    fn commit(&self, commit: Commit) -> Future<'_, Outcome> {
        Box::pin(commit::commit(self, commit))
    }

    fn archive_name<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            bub_tape::check_tape_name(tape)?;
            let ask = guest_call!(store.call_archive_name(tape), name => {
                validate::archive(&name, tape)?;
                Ok(name)
            });
            self.ask((&format!("archive tape `{tape}`"), tape), ask).await
        })
    }

    fn sidecars<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            bub_tape::check_tape_name(tape)?;
            let action = format!("list the sidecars of tape `{tape}`");
            let mut names: Vec<String> = Vec::new();
            loop {
                let after = names.last().map(String::as_str);
                let ask = guest_call!(store.call_list_sidecars(tape, after, PAGE), names => {
                    validate::sidecars(&names, tape, after, PAGE)?;
                    Ok(names)
                });
                let page = self.ask((&action, tape), ask).await?;
                let is_last = page.len() < PAGE as usize;
                names.extend(page);
                if is_last {
                    return Ok(names);
                }
            }
        })
    }

    fn last_id<'a>(&'a self, tape: &'a str) -> Future<'a, u64> {
        Box::pin(async move {
            bub_tape::check_tape_name(tape)?;
            let last = self.tail_page(tape, None, 1).await?.entries.last().map_or(0, |last| last.id);
            self.seen_last(tape, last);
            Ok(last)
        })
    }

    fn read<'a>(&'a self, tape: &'a str, after: u64, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            bub_tape::check_tape_name(tape)?;
            let mut found: Vec<Entry> = Vec::new();
            while found.len() < max {
                let behind = found.last().map_or(after, |last| last.id);
                let page = self.read_page(tape, behind, page(max - found.len())).await?;
                let more = page.more;
                found.extend(from_page(page));
                if !more {
                    break;
                }
            }
            Ok(found)
        })
    }

    fn tail<'a>(&'a self, tape: &'a str, before: Option<u64>, max: usize) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            bub_tape::check_tape_name(tape)?;
            let mut newest_first: Vec<Entry> = Vec::new();
            while newest_first.len() < max {
                let before = newest_first.last().map(|entry| entry.id).or(before);
                let page = self.tail_page(tape, before, page(max - newest_first.len())).await?;
                let more = page.more;
                newest_first.extend(from_page(page).rev());
                if !more {
                    break;
                }
            }
            newest_first.reverse();
            Ok(newest_first)
        })
    }

    fn newest<'a>(&'a self, tape: &'a str, lookup: &'a Lookup, before: Option<u64>) -> Future<'a, Option<Entry>> {
        Box::pin(async move {
            bub_tape::check_tape_name(tape)?;
            let wanted = &match lookup {
                Lookup::Kind(kind) => wit::Lookup::Kind(kind.clone()),
                Lookup::Named { kind, name } => wit::Lookup::Named((kind.clone(), name.clone())),
                Lookup::Phase => wit::Lookup::Phase,
                Lookup::Anchor => wit::Lookup::Kind("anchor".to_owned()),
            };
            let ask = guest_call!(store.call_newest(tape, wanted, before), found => {
                validate::newest(&found, lookup, before)?;
                Ok(found)
            });
            Ok(self.ask((&format!("read tape `{tape}`"), tape), ask).await?.map(from_entry))
        })
    }

    fn since_anchor<'a>(&'a self, tape: &'a str) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            let anchor = self.newest(tape, &Lookup::Phase, None).await?;
            self.read(tape, anchor.map_or(0, |anchor| anchor.id.saturating_sub(1)), usize::MAX).await
        })
    }

    fn find<'a>(&'a self, tape: &'a str, condition: &'a Condition, max: usize) -> Future<'a, Option<Candidates>> {
        Box::pin(find::find(self, tape, condition, page(max)))
    }

    fn list<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<String>> {
        Box::pin(async move {
            let mut names: Vec<String> = Vec::new();
            while names.len() < max {
                let behind = names.last().map(String::as_str).or(after);
                let wanted = page(max - names.len());
                let ask = guest_call!(store.call_list_tapes(behind, wanted), names => {
                    validate::tapes(&names, behind, wanted)?;
                    Ok(names)
                });
                let page = self.ask(("list the tapes", ""), ask).await?;
                let is_last = page.len() < wanted as usize;
                names.extend(page);
                if is_last {
                    break;
                }
            }
            Ok(names)
        })
    }

    /// A write of nothing, which a store that would refuse a write refuses.
    fn check_writable<'a>(&'a self, tape: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            bub_tape::check_tape_name(tape)?;
            let nothing = [wit::Batch { tape: tape.to_owned(), last: None, reset: None, entries: Vec::new() }];
            self.write(tape, &nothing, None).await.map(drop)
        })
    }

    fn section<'a>(&'a self, tape: &'a str, name: &'a str, before: Option<u64>) -> Future<'a, Vec<Entry>> {
        by_reading::section(self, tape, name, before)
    }

    fn query<'a>(&'a self, tape: &'a str, query: &'a Query) -> Future<'a, Vec<Entry>> {
        by_reading::query(self, tape, query)
    }

    fn search<'a>(&'a self, tape: &'a str, search: &'a Search, before: Option<u64>) -> Future<'a, Vec<Hit>> {
        by_reading::search(self, tape, search, before)
    }
}
