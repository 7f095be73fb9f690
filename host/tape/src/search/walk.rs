//! A search over a store that has no index for searches: by what it finds, or one page after another.

use std::ops::ControlFlow;

use super::super::condition::Condition;
use super::super::entry::Entry;
use super::super::error::Result;
use super::super::reader::Reader;
use super::super::store::Store;
use super::collector::Collector;
use super::{Hit, Search};

/// How many entries are asked for in one step.
const PAGE: usize = 256;

/// Looks at the next older entry.
type Offer = fn(&mut Collector, Entry) -> ControlFlow<()>;

/// What a search finds among the entries with an id less than `before`.
///
/// # Errors
///
/// Those of [`Store::search`].
pub(crate) async fn walk<S: Store + ?Sized>(
    store: &S,
    tape: &str,
    search: &Search,
    before: Option<u64>,
) -> Result<Vec<Hit>> {
    let mut found = Collector::new(search)?;
    let bounds = Condition { before, newest_first: true, ..Condition::default() };
    let [literal, forgiving] = found.conditions(search, &bounds);
    // What is found literally is asked for by itself: more is answered where typing errors are forgiven.
    let both = pass(store, tape, literal, &mut found, Collector::offer_literal, Collector::offer).await?;
    if !both && found.wants_more() {
        let offer: Offer = Collector::offer_forgiving;
        pass(store, tape, forgiving, &mut found, offer, offer).await?;
    }
    Ok(found.finish())
}

/// Shows what may fit, newest first: by `offer` what the store finds, by `offer_paged` all entries of a store that finds
/// none. Whether it was the latter.
async fn pass<S: Store + ?Sized>(
    store: &S,
    tape: &str,
    condition: Condition,
    found: &mut Collector,
    offer: Offer,
    offer_paged: Offer,
) -> Result<bool> {
    let mut reader = Reader::new(condition);
    let mut is_paged = None;
    while !reader.is_done() {
        let step = reader.step(store, tape, PAGE).await?;
        let is_paged = *is_paged.get_or_insert(!reader.finds());
        let offer = if is_paged { offer_paged } else { offer };
        if found.is_late() {
            break;
        }
        for entry in step.entries {
            let (id, hits) = (entry.id, found.hits());
            if offer(found, entry).is_break() {
                return Ok(is_paged);
            }
            reader.pass(id);
            if found.hits() > hits {
                reader.accept();
            }
        }
        if !reader.go_on(step.next) {
            break;
        }
        // A search through a long tape leaves room for others.
        tokio::task::yield_now().await;
    }
    Ok(is_paged.unwrap_or_default())
}
