//! A home in one file: written while it is used, checked, and put back.
//!
//! The file is a compressed tar archive. Its first entry names the format, the last one lists all others with their
//! digests, so that an archive that was cut off or damaged is recognised. Tapes are copied byte for byte, each between
//! two of its writes. What is derived, such as compiled plugins, and what belongs to a running process, such as locks
//! and messages that are being delivered, is left out. Secrets are in it only under a passphrase.

#![warn(missing_docs, unreachable_pub)]

mod content;
mod create;
mod manifest;
mod read;
mod restore;
mod seal;

pub use create::{Home, TapeStore, create};
pub use manifest::{Manifest, StoredTapes};
pub use read::verify;
pub use restore::restore;
