//! The conformance tests of tape stores: what every store promises, asked of each.
//!
//! A test program joins by a function for each of its stores that makes a [`Place`], and by naming it in [`conformance!`].

pub mod any_ids;
pub mod commits;
pub mod copies;
pub mod erasures;
pub mod forks;
pub mod histories;
pub mod model;
pub mod queries;
pub mod resets;
pub mod revisions;
pub mod searches;
pub mod zones;

use bub_tape::json as text;
use bub_tape::{Batch, Commit, Draft, Entry, Outcome, Reset, Store};
use std::path::PathBuf;
use std::sync::Arc;

/// The name of the tape that most tests write.
pub const NAME: &str = "aaaa__bbbb";

/// The sidecar of that tape.
pub const SIDE: &str = "aaaa__bbbb__sidecar__notes";

/// Where a store keeps its tapes.
pub struct Place {
    open: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    files: Option<PathBuf>,
}

impl Place {
    /// A place whose store is opened by `open`, as by a process that starts now. Its values live as long as the
    /// place: a directory, a server.
    pub fn new(open: impl Fn() -> Arc<dyn Store> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), files: None }
    }

    /// The same, where archives are files in that directory. Elsewhere archives are read under their names.
    pub fn with_files(self, dir: PathBuf) -> Self {
        Self { files: Some(dir), ..self }
    }

    /// The store, as a process finds it that begins now.
    pub fn open(&self) -> Arc<dyn Store> {
        (self.open)()
    }

    /// The entries of an archive.
    pub async fn archived(&self, archive: &str) -> Vec<Entry> {
        match &self.files {
            Some(dir) => {
                let file = std::fs::read_to_string(dir.join(archive)).unwrap_or_default();
                file.lines().map(|line| Entry::parse(line).unwrap()).collect()
            }
            None => self.open().read(archive, 0, usize::MAX).await.unwrap(),
        }
    }
}

/// Runs each case for each store, as a test of its own, in a module with the store's name. Each name is that of a function
/// beside the macro's call, which makes the [`Place`].
#[macro_export]
macro_rules! conformance {
    ($($store:ident)*) => { $(
        mod $store {
            $crate::conformance! { @cases $store:
                commits::a_missing_tape_is_empty
                commits::an_entry_comes_back_as_it_was_written
                commits::several_batches_are_written_together_or_not_at_all
                commits::a_write_is_for_one_family_and_names_each_tape_once
                commits::a_write_with_a_key_is_done_once
                commits::a_write_is_rejected_after_a_conflicting_write
                commits::no_drafts_write_nothing
                commits::entries_that_do_not_fit_on_a_line_are_rejected
                commits::invalid_names_are_rejected
                commits::tapes_are_listed_in_order_and_sidecars_are_not
                commits::another_opening_sees_the_written_entries
                commits::two_writers_leave_consecutive_ids
                resets::an_archive_keeps_a_tape_and_its_sidecars
                resets::a_reset_without_an_archive_removes_all_entries
                resets::a_write_may_begin_with_a_reset
                resets::a_sidecar_is_emptied_alone
                resets::entries_of_a_fork_are_added_to_the_archive
                resets::an_archive_is_never_overwritten
                queries::queries_are_answered_as_by_a_file_store
                queries::a_long_tape_is_searched_to_its_end
                searches::words_of_every_length_and_script_are_found
                searches::typing_errors_kinds_dates_and_limits_follow_the_rules_of_searches
                searches::a_fork_is_searched_with_its_parent
                revisions::a_revision_stays_until_the_next_write_of_any_process
                revisions::a_tape_with_the_longest_name_is_read_as_any_other
                revisions::summaries_that_are_kept_are_those_of_the_tapes
                zones::the_complete_section_of_the_highest_version_applies
                zones::a_fork_has_its_own_section_or_the_visible_part_of_its_parents
                zones::a_search_can_exclude_earlier_versions_of_a_section
                erasures::an_erasure_removes_its_entries_and_no_others
                erasures::an_entry_whose_content_has_changed_is_not_erased
                erasures::entries_of_an_archive_are_erased_under_its_name
                histories::any_history_is_read_as_it_was_written
                any_ids::every_id_has_an_answer
                any_ids::lines_with_any_ids_are_read_in_their_order
                forks::queries_over_a_fork_see_one_tape
                forks::a_merge_keeps_ids_consecutive_and_a_drop_discards
                forks::sidecars_are_forked_with_their_tape
                forks::a_reset_of_a_fork_archives_at_the_merge
                forks::any_history_with_forks_equals_that_of_one_tape
                copies::a_copy_has_the_ids_and_dates_of_its_source_up_to_an_entry
                copies::a_copy_of_no_entries_begins_anew_and_a_failed_one_is_removed
                copies::a_copy_that_ends_at_a_tainted_anchor_is_tainted
                copies::a_copy_that_ends_at_a_call_has_a_result_for_it
            }
        }
    )* };
    (@cases $store:ident: $($room:ident::$case:ident)*) => { $(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            $crate::$room::$case(&super::$store()).await;
        }
    )* };
}

/// A message of that role.
pub fn message(role: &str, content: &str) -> Draft {
    let payload = format!(r#"{{"role": {}, "content": {}}}"#, text::quote(role), text::quote(content));
    Draft::new("message", &payload, "{}").unwrap()
}

/// The ids of entries, in their order.
pub fn ids(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.id).collect()
}

/// The text under a key of a case.
pub fn string(case: &str, key: &str) -> String {
    text::string(text::get(case, key).unwrap()).unwrap()
}

/// A write to one tape.
pub fn batch(tape: &str, drafts: Vec<Draft>) -> Batch {
    Batch { tape: tape.to_owned(), drafts, ..Batch::default() }
}

/// A write to one tape that begins with its reset.
pub fn reset(tape: &str, archive: Option<String>, drafts: Vec<Draft>) -> Batch {
    Batch { reset: Some(Reset { archive, kept: Vec::new() }), ..batch(tape, drafts) }
}

/// Writes that are done once under their key.
pub fn keyed(key: &str, batches: Vec<Batch>) -> Commit {
    Commit { key: Some(key.to_owned()), batches }
}

/// The outcome of a write whose batches began at these ids.
pub fn stored(first: &[u64]) -> Outcome {
    Outcome::Stored(first.to_vec())
}

/// All entries of a tape.
pub async fn all(store: &dyn Store, tape: &str) -> Vec<Entry> {
    store.read(tape, 0, usize::MAX).await.unwrap()
}

/// The content of messages.
pub fn contents(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| string(&entry.payload, "content")).collect()
}
