//! The knowledge of a turn about its conversation for judging flows.

use crate::flow::address::{Address, Addresses};
use serde_json::Value;

/// Pages of which a part was put aside, in one conversation.
const MAX_SPILLED: usize = 64;

/// The knowledge of a turn for judging flows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// The owner's texts while the turn ran.
    pub(super) steered: Vec<String>,
    /// The addresses and handles that were named in this conversation; none, before they were looked for.
    pub(super) earlier: Option<Named>,
    /// The addresses and handles that were named in this turn.
    pub(super) named: Named,
    pub(super) read: Vec<(String, String)>,
    pub(super) bytes: usize,
}

/// The content of an event of addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// By the owner.
    pub(super) owner: Addresses,
    /// On pages.
    pub(super) pages: Addresses,
    /// Handles of what was put aside of pages.
    pub(super) spilled: Vec<String>,
}

impl Named {
    pub(super) fn parse(data: &Value) -> Self {
        let texts = |key: &str| data[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut named = Self::default();
        named.owner.extend(texts("owner").filter_map(Address::parse));
        named.pages.extend(texts("pages").filter_map(Address::parse));
        named.spilled = texts("spilled").map(str::to_owned).take(MAX_SPILLED).collect();
        named
    }

    pub(super) fn extend(&mut self, later: &Self) {
        self.owner.extend(later.owner.iter());
        self.pages.extend(later.pages.iter());
        for handle in &later.spilled {
            if !self.spilled.contains(handle) {
                self.spilled.push(handle.clone());
            }
        }
        let over = self.spilled.len().saturating_sub(MAX_SPILLED);
        self.spilled.drain(..over);
    }

    pub(super) fn data(&self) -> Value {
        let texts = |addresses: &Addresses| addresses.iter().map(Address::text).collect::<Vec<_>>();
        serde_json::json!({ "owner": texts(&self.owner), "pages": texts(&self.pages), "spilled": self.spilled })
    }
}

impl Flows {
    pub(super) fn has_spilled(&self, handle: &str) -> bool {
        let earlier = self.earlier.iter().flat_map(|earlier| &earlier.spilled);
        earlier.chain(&self.named.spilled).any(|known| known == handle)
    }
}
