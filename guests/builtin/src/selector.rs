//! The default selection: everything since the latest anchor, unchanged.

use crate::Error;
use crate::exports::bub::context::selector::{Part, Selected, View};

/// Ids per request: the host's maximum.
const BATCH: u32 = 4_096;

pub fn everything(view: &View) -> Result<Selected, Error> {
    let mut history = Vec::new();
    loop {
        let ids = view.next_ids(BATCH)?;
        if ids.is_empty() {
            break;
        }
        history.extend(ids.into_iter().map(Part::Entry));
    }
    Ok(Selected { system_prompt: None, before: Vec::new(), history, after: Vec::new(), notes: "{}".to_owned() })
}
