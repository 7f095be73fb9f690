//! Evidence of what a tape has held: a chain of digests beside each tape, and signed heads of these chains.
//!
//! A [`ChainedStore`] is a layer over a tape store. With each write to a tape or one of its sidecars it appends a
//! [`Record`](record::Record) to the sidecar `chain`, in the same commit: the digest of each entry, and the digest of the
//! record before. An [`AuditFolder`] holds an ed25519 key and the list of signed [heads](Head). [`verify()`] walks all of
//! them and names the first place that does not fit.
//!
//! The crate knows nothing of turns, plugins or models, and its layer changes no entry.

#![warn(missing_docs, unreachable_pub)]

mod complete;
mod cose;
mod digest;
mod erasing;
mod fault;
mod heads;
mod keys;
mod layer;
pub mod record;
mod signed;
mod state;
mod statement;
mod verify;
mod witness;
mod witness_list;
mod writer;

pub use cose::cose;
pub use digest::entry_digest;
pub use fault::{Fault, FaultKind, Place};
pub use heads::{HEADS, HeadLog, SignedHead, Signing, check_witness};
pub use keys::{AuditFolder, Keys, PublicKey};
pub use layer::{ChainedStore, Head, HeadKeeper};
pub use statement::envelope;
pub use verify::{Report, verify};
pub use witness::{Delivery, Failed, Lines, Witnessed, append_lines};
pub use witness_list::{MAX_LIST, MAX_PART, NotTaken, Taken, WitnessLists};
