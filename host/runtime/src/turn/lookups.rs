//! The lookups of turns on their tapes, so that a store behind a network can answer them at once.

use super::choice::SWITCH;
use super::flows::ADDRESSES;
use super::taint::TAINTED;
use bub_tape::{Lookup, MEMORY};

/// The lookups of most turns: the host's, and those of the program's own plugins. Others are asked for when they are made.
pub fn lookups() -> Vec<Lookup> {
    let events = [TAINTED, ADDRESSES, SWITCH, "model_switch", "reasoning_effort_switch"];
    let memory = ["open", "seal"].map(|end| Lookup::anchor(&format!("{MEMORY}/{end}")));
    let first = [Lookup::Phase, Lookup::Anchor, Lookup::Kind("system".to_owned())];
    first.into_iter().chain(memory).chain(events.map(Lookup::event)).collect()
}
