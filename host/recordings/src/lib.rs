//! Recordings of turns: what went into each call of a plugin, what the host answered, and what came out.
//!
//! A [`TurnRecord`] is a turn as it was collected. [`Store::write`] makes a file of it, in which each value stands once, named
//! by its SHA-256; [`Recording`] is such a file that was read and checked.
//!
//! The crate knows nothing of WebAssembly, plugins or tapes: names, digests and values are given to it.

#![warn(missing_docs, unreachable_pub)]

mod encode;
mod manifest;
mod objects;
mod packed;
mod read;
mod record;
mod store;
mod texts;

pub use manifest::{CallRow, Manifest};
pub use objects::{canonical, digest, digest_of};
pub use packed::{HeldValue, Mark, Packed, Unpack};
pub use read::{Problem, Recording, RecordingHeader};
pub use record::{CallRecord, Ended, ImportRecord, Shared, TurnRecord};
pub use store::{Limits, Listed, Store, Written};
pub use texts::Texts;

/// The version of the layout of files, of which a program reads older ones too: values are packed as an LZ4 frame. In the first
/// version they are packed by gzip.
pub const FORMAT: u32 = 2;
