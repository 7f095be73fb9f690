//! The tape: the append-only record of a session.
//!
//! An [`Entry`] is a record, a [`Draft`] one without an id. A [`Store`] keeps tapes; [`FileStore`] keeps them as JSON
//! lines, byte-compatible with Bub's. A [`Tape`] is the handle that the rest of the host uses: a tape of a store, or a
//! fork whose writes are merged or dropped. A [`Query`] finds entries, [`view`] selects those that a selector sees, and
//! a [`Renderer`] turns them into chat messages.
//!
//! **Invariant**: the crate has no knowledge of WebAssembly, hooks or channels, and only the stores and the journal
//! access files.

#![warn(missing_docs, unreachable_pub)]

pub mod by_reading;
mod compact;
mod condition;
mod date;
mod draft;
mod entry;
pub mod entry_text;
mod erase;
mod error;
pub mod failpoint;
mod file;
mod filter;
mod fold;
mod forgotten;
mod fork;
pub mod grams;
mod handle;
mod holder;
mod ids;
mod info;
mod interruption;
mod journal;
pub mod json;
mod lock;
mod lookup;
pub mod markdown;
mod media;
mod memory;
mod name;
mod network;
mod note;
mod position;
mod prefilter;
mod query;
mod reader;
mod render;
mod revision;
mod search;
mod section;
mod session;
mod session_summaries;
mod sqlite;
mod store;
mod summary;
mod tape_copy;
mod tape_outline;
mod tapes;
mod text_matcher;
pub mod transaction;
pub mod transfer;
mod verify;
pub mod view;

pub use condition::{Candidates, Condition, SimilarWord};
pub use date::{now, run_id};
pub use draft::{Draft, bootstrap, event, handoff};
pub use entry::{Entry, MEMORY, SESSION_MARK};
pub use erase::{ERASED, Erasure, Verdict};
pub use error::{Error, Result};
pub use file::{FileStore, Garbage, Index, Traces, attach, empty_trash, erase_traces, gc};
pub use forgotten::{Forgotten, PLACEHOLDER, SIDECAR as FORGOTTEN, digest_of};
pub use fork::Fork;
pub use handle::{Cursor, Tape};
pub use holder::Holder;
pub use info::Info;
pub use journal::{HeldJournal, InterruptedSession, JournalBackend, JournalSettings, Journals, Recovered, report_wait};
pub use lock::Queues;
pub use lookup::Lookup;
pub use media::{MAX_SENT, Media, told};
pub use memory::MemoryStore;
pub use name::{
    CHAIN, HOST_SIDECARS, RECEIPTS, check_tape_name, family, is_listed, is_workspace_tape, sidecar_name, tape_name,
    workspace_tape_name,
};
pub use network::network_file_system;
pub use note::Note;
pub use position::Position;
pub use query::{Query, Start};
pub use reader::find_candidates;
pub use render::{RenderedEntry, Renderer};
pub use revision::Revision;
pub use search::{Collector, Hit, Matcher, Search};
pub use section::{PluginSection, ids as section_ids, version as section_version};
pub use session::{
    MAX_SESSION_NAME, SESSION_NAME, SessionMark, SessionSummary, name_session, session_mark, session_summary, typed,
};
pub use session_summaries::SummaryCache;
pub use sqlite::SqliteStore;
pub use store::{Batch, Commit, Future, Outcome, Reset, Store};
pub use summary::{EntryOffset, Newest, TapeSummary};
pub use tape_copy::{CopiedPage, TapeCopy};
pub use tape_outline::{AnchorOutline, TapeOutline};
pub use tapes::Tapes;
pub use text_matcher::Words;
pub use verify::{Fault, Verified, Verifier};

/// The first anchor of every session's tape.
pub const SESSION_START: &str = "session/start";

/// The event that records that a channel's message is part of the conversation, so that an interrupted delivery is not
/// repeated.
pub const TAKEN: &str = "message.taken";

/// The durability of an acknowledged write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Survives the end of the process, including a crash. A power loss may lose the last writes, never part of one.
    #[default]
    Os,
    /// Survives a power loss too: each write is synced.
    Fsync,
}

impl Durability {
    /// The value in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Os => "os",
            Self::Fsync => "fsync",
        }
    }
}
