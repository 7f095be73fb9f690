//! Entries one after the other, read page by page.

use std::collections::VecDeque;

use super::super::entry::Entry;
use super::super::error::Result;
use super::{Holding, Transfer};

pub(super) struct Cursor<'a> {
    store: &'a dyn Transfer,
    holding: &'a Holding,
    after: u64,
    page: VecDeque<Entry>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(store: &'a dyn Transfer, holding: &'a Holding) -> Self {
        Self { store, holding, after: 0, page: VecDeque::new() }
    }

    /// The next entry; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Entry>> {
        if self.page.is_empty() {
            self.page = self.store.page(self.holding, self.after).await?.into();
        }
        let next = self.page.pop_front();
        if let Some(entry) = &next {
            self.after = entry.id;
        }
        Ok(next)
    }
}
