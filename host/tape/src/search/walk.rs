//! Searches over a store without a search index: by `find`, or page by page.

use std::ops::ControlFlow;

use super::super::condition::Condition;
use super::super::entry::Entry;
use super::super::error::Result;
use super::super::reader::Reader;
use super::super::store::Store;
use super::collector::Collector;
use super::{Hit, Search};

/// Entries per step.
const PAGE: usize = 256;

/// Offers the next older entry.
type Offer = fn(&mut Collector, Entry) -> ControlFlow<()>;

/// Searches the entries with an id less than `before`.
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
    // Literal matches are requested separately: the condition for typing errors has more candidates.
    let both = pass(store, tape, literal, &mut found, Collector::offer_literal, Collector::offer).await?;
    if !both && found.wants_more() {
        let offer: Offer = Collector::offer_forgiving;
        pass(store, tape, forgiving, &mut found, offer, offer).await?;
    }
    Ok(found.finish())
}

/// Offers candidates, newest first: by `offer` those that the store finds, by `offer_paged` all entries if it does not
/// support `find`. Returns whether it paged.
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
        // Let other tasks run during a long search.
        tokio::task::yield_now().await;
    }
    Ok(is_paged.unwrap_or_default())
}
