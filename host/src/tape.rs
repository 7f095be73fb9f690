//! The tape: one session's append-only record, and the ways of reading it.
//!
//! An [`Entry`] is one record, a [`Draft`] one that no tape has numbered yet. A [`Store`] keeps tapes; [`FileStore`]
//! keeps them as JSON lines, the same bytes as Bub's. A [`Tape`] is what the rest of the host holds: one tape of a
//! store, or a fork of one whose writes are merged or dropped. A [`Query`] finds entries, [`view`] says which of them a
//! selector sees, and a [`Renderer`] turns them into chat messages.
//!
//! **Invariant**: this room knows nothing of wasm, hooks or channels, and only [`file`](FileStore) knows of files.

mod date;
mod draft;
mod entry;
mod error;
mod file;
mod fork;
mod handle;
mod info;
pub mod json;
mod name;
mod query;
mod render;
mod store;
pub mod view;

pub use date::{now, run_id};
pub use draft::{Draft, bootstrap, event, handoff};
pub use entry::Entry;
pub use error::{Error, Result};
pub use file::FileStore;
pub use fork::Fork;
pub use handle::{Cursor, Tape};
pub use info::Info;
pub use name::{check_tape_name, sidecar_name, tape_name};
pub use query::{Position, Query, Start};
pub use render::Renderer;
pub use store::{Future, Store};

/// The anchor that every session's tape begins with.
pub const SESSION_START: &str = "session/start";
