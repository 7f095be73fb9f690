//! What every store promises, asked of each.

mod any_ids;
mod candidates;
mod commits;
mod database;
mod erasures;
mod forks;
mod histories;
mod model;
mod queries;
mod resets;
mod searches;
mod zones;

use std::path::PathBuf;
use std::sync::Arc;

use bub_tape::{Batch, Commit, Draft, Durability, Entry, FileStore, MemoryStore, Outcome, Reset};
use bub_tape::{SqliteStore, Store};

use super::{NAME, golden, ids, message, string};

/// Where a store keeps tapes, removed at the end of the test.
struct Place {
    open: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    /// Where archives are files; elsewhere they are read under their names.
    files: Option<PathBuf>,
    _dir: Option<tempfile::TempDir>,
}

impl Place {
    fn file() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tapes");
        let files = Some(path.clone());
        Self { open: Box::new(move || Arc::new(FileStore::open(&path).unwrap())), files, _dir: Some(dir) }
    }

    fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tapes.db");
        let open = move || SqliteStore::open(&path, Durability::Os, true).unwrap();
        Self { open: Box::new(move || Arc::new(open())), files: None, _dir: Some(dir) }
    }

    fn memory() -> Self {
        let store = Arc::new(MemoryStore::new());
        Self { open: Box::new(move || store.clone()), files: None, _dir: None }
    }

    /// A store in this process that finds entries.
    fn finding() -> Self {
        let store = Arc::new(candidates::Finding::default());
        Self { open: Box::new(move || store.clone()), files: None, _dir: None }
    }

    /// A plugin that keeps tapes on another machine.
    fn guest() -> Self {
        let kept = crate::guest_store::place::Kept::wait();
        Self { open: Box::new(move || kept.open()), files: None, _dir: None }
    }

    /// The same plugin, and a server that does not know how to look for entries.
    fn paged() -> Self {
        let kept = crate::guest_store::place::Kept::wait();
        kept.server().searches(crate::guest_store::Searching::Not);
        Self { open: Box::new(move || kept.open()), files: None, _dir: None }
    }

    /// The same plugin, and `bub-wasm serve` on the other side.
    fn served() -> Self {
        let kept = crate::guest_store::place::Served::wait();
        let files = Some(kept.files());
        Self { open: Box::new(move || kept.open()), files, _dir: None }
    }

    /// The store, as a process finds it that begins now.
    fn open(&self) -> Arc<dyn Store> {
        (self.open)()
    }

    async fn archived(&self, archive: &str) -> Vec<Entry> {
        match &self.files {
            Some(dir) => {
                let file = std::fs::read_to_string(dir.join(archive)).unwrap_or_default();
                file.lines().map(|line| Entry::parse(line).unwrap()).collect()
            }
            None => self.open().read(archive, 0, usize::MAX).await.unwrap(),
        }
    }
}

/// Each case for each store, as a test of its own. A store joins by a name and a [`Place`] of that name.
macro_rules! conformance {
    ($($store:ident)*) => { $(
        mod $store {
            conformance! { @cases $store:
                commits::a_tape_that_is_not_there_is_empty
                commits::an_entry_comes_back_as_it_was_written
                commits::several_batches_are_written_together_or_not_at_all
                commits::a_write_is_for_one_family_and_names_each_tape_once
                commits::a_write_with_a_key_is_done_once
                commits::a_write_is_refused_when_somebody_else_wrote_first
                commits::no_drafts_write_nothing
                commits::what_fits_on_no_line_is_refused
                commits::names_that_are_none_are_refused
                commits::tapes_are_listed_in_order_and_sidecars_are_not
                commits::another_opening_sees_what_was_written
                commits::two_writers_leave_consecutive_ids
                resets::an_archive_keeps_a_tape_and_its_sidecars
                resets::without_an_archive_nothing_is_left
                resets::a_write_may_begin_with_a_reset
                resets::a_sidecar_is_emptied_alone
                resets::what_a_fork_had_written_follows_into_the_archive
                resets::no_archive_is_written_over
                queries::whatever_is_asked_the_answer_is_that_of_a_file
                queries::a_long_tape_is_searched_to_its_end
                searches::words_of_every_length_and_script_are_found
                searches::typing_errors_kinds_dates_and_limits_are_as_everywhere
                searches::a_fork_is_searched_with_its_parent
                zones::the_whole_zone_of_the_highest_version_holds
                zones::a_fork_has_its_own_zone_or_what_it_sees_of_its_parents
                zones::a_search_can_leave_out_what_a_zone_held_before
                erasures::what_is_taken_out_is_gone_and_the_rest_stays_as_it_was
                erasures::an_entry_that_says_something_else_by_now_stays
                histories::any_history_is_read_as_it_was_written
                any_ids::whatever_id_is_asked_for_the_answer_ends
                any_ids::lines_that_bear_any_ids_are_read_in_their_order
                forks::queries_over_a_fork_see_one_tape
                forks::a_merge_keeps_ids_consecutive_and_a_drop_discards
                forks::sidecars_are_forked_with_their_tape
                forks::a_reset_of_a_fork_archives_at_the_merge
                forks::any_history_with_forks_is_that_of_one_tape
            }
        }
    )* };
    (@cases $store:ident: $($room:ident::$case:ident)*) => { $(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            super::$room::$case(&super::Place::$store()).await;
        }
    )* };
}

conformance! { file sqlite memory finding guest paged served }

/// A write to one tape.
fn batch(tape: &str, drafts: Vec<Draft>) -> Batch {
    Batch { tape: tape.to_owned(), drafts, ..Batch::default() }
}

/// A write to one tape that begins with its reset.
fn reset(tape: &str, archive: Option<String>, drafts: Vec<Draft>) -> Batch {
    Batch { reset: Some(Reset { archive, kept: Vec::new() }), ..batch(tape, drafts) }
}

fn keyed(key: &str, batches: Vec<Batch>) -> Commit {
    Commit { key: Some(key.to_owned()), batches }
}

fn stored(first: &[u64]) -> Outcome {
    Outcome::Stored(first.to_vec())
}

async fn all(store: &dyn Store, tape: &str) -> Vec<Entry> {
    store.read(tape, 0, usize::MAX).await.unwrap()
}

/// What messages say.
fn contents(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| string(&entry.payload, "content")).collect()
}

/// The sidecar of the tape that most tests write.
const SIDE: &str = "aaaa__bbbb__sidecar__notes";
