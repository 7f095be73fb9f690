//! Views: the entries of a tape that a selector sees.

use super::SESSION_START;
use super::entry::Entry;
use super::error::Result;
use super::handle::Tape;

/// The default view: the newest anchor and all entries after it that a selector [`sees`]. The anchor is included, so
/// that a handoff's state reaches the model.
pub async fn window(tape: &Tape) -> Result<Vec<Entry>> {
    let mut entries = tape.since_anchor().await?;
    entries.retain(sees);
    Ok(entries)
}

/// Whether a selector sees this entry: not a tape's first anchor, no entry of a section, and no entry whose meta
/// excludes it from the context.
pub fn sees(entry: &Entry) -> bool {
    let is_shown = match &*entry.kind {
        "anchor" => !entry.is_section_anchor() && entry.anchor_name().as_deref() != Some(SESSION_START),
        "event" => entry.section_name().is_none(),
        _ => true,
    };
    is_shown && entry.in_context()
}
