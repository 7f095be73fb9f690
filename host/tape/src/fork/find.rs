//! Candidates in a fork: its own entries, unfiltered, and the parent's candidates.

use super::super::condition::{Candidates, Condition};
use super::super::error::Result;
use super::{Fork, below};

/// Candidates for a condition: all of the fork's own entries between the bounds, and the parent's candidates. `None` if
/// the parent does not support `find`.
pub(super) async fn find(fork: &Fork, tape: &str, condition: &Condition, max: usize) -> Result<Option<Candidates>> {
    let is_between = |id: u64| id > condition.after && condition.before.is_none_or(|before| id < before);
    let (mut own, bound) = fork.own(tape, usize::MAX, |entry| is_between(entry.id));
    let shows_parent = bound != Some(0);
    if condition.newest_first && !own.is_empty() {
        let next = own.last().map(|oldest| oldest.id).filter(|_| shows_parent);
        return Ok(Some(Candidates { entries: own, next }));
    }
    own.reverse();
    if !shows_parent || bound.is_some_and(|bound| condition.after >= bound) {
        return Ok(Some(Candidates { entries: own, next: None }));
    }
    let theirs = Condition { before: below(condition.before, bound), ..condition.clone() };
    let Some(mut found) = fork.behind(tape)?.find(tape, &theirs, max).await? else { return Ok(None) };
    // The fork's own entries follow the parent's last one.
    if found.next.is_none() && !own.is_empty() {
        found.next = bound;
    }
    Ok(Some(found))
}
