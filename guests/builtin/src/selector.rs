//! The default selection: everything since the latest anchor, unchanged.

use bub_guest::view::Selected;
use bub_guest::{Result, View};

/// Ids per request: the host's maximum.
const BATCH: u32 = 4_096;

pub fn everything(view: &View) -> Result<Selected> {
    let mut history = Vec::new();
    loop {
        let ids = view.next_ids(BATCH)?;
        if ids.is_empty() {
            return Ok(Selected::entries(history));
        }
        history.extend(ids);
    }
}
