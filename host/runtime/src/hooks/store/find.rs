//! A plugin that keeps tapes is asked to find entries, where it exports `store-query`.

use super::{GuestStore, from_entry, validate};
use crate::guest::bindings::tape_exports::store_query as query;
use crate::hooks::guest_call::guest_call;
use bub_tape::{Candidates, Condition, Result, check_tape_name};

/// Entries that may fit, at most `max`; none where the plugin cannot say.
pub(super) async fn find(
    store: &GuestStore,
    tape: &str,
    condition: &Condition,
    max: u32,
) -> Result<Option<Candidates>> {
    if !store.keeper.as_ref().is_ok_and(|keeper| keeper.answers_queries()) {
        return Ok(None);
    }
    check_tape_name(tape)?;
    let newest_first = condition.newest_first;
    let condition = &to_condition(condition);
    let ask = guest_call!(store_query.call_query(tape, condition, newest_first, max), found => {
        validate::candidates(&found, condition, newest_first, max)?;
        Ok(found)
    });
    let found = store.ask((&format!("search tape `{tape}`"), tape), ask).await?;
    Ok(found.map(|query::Candidates { entries, next }| Candidates {
        entries: entries.into_iter().map(from_entry).collect(),
        next,
    }))
}

fn to_condition(condition: &Condition) -> query::Condition {
    let Condition { after, before, kinds, name, texts, similar, since, until, newest_first: _ } = condition.clone();
    let similar = similar.into_iter().map(|word| query::SimilarWord { text: word.text, edits: word.edits }).collect();
    query::Condition { after, before, kinds, name, texts, similar, since, until }
}
