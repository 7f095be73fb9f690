//! The default selection: everything since the latest anchor, as it stands.

use crate::Error;
use crate::exports::bub::context::selector::{Part, Selected, View};

/// Entries asked for at once: the most that the host gives.
const BATCH: u32 = 256;

pub fn everything(view: &View) -> Result<Selected, Error> {
    let mut history = Vec::new();
    loop {
        let entries = view.next(BATCH)?;
        if entries.is_empty() {
            break;
        }
        history.extend(entries.iter().map(|entry| Part::Entry(entry.id)));
    }
    Ok(Selected { system_prompt: None, before: Vec::new(), history, after: Vec::new(), notes: "{}".to_owned() })
}
