//! Memory's part of the system prompt, and cleanup at the beginning of a turn.

use crate::change::Changed;
use crate::scope::{self, Scope};
use crate::snapshot::Snapshot;
use crate::{RETENTION, Settings, block, day, memory};
use bub_guest::{CutOrder, Principal, Result, SystemPart, Turn, config, log};
use serde_json::Value;

/// The key of the turn's state that records that the turn has begun.
const BEGUN: &str = "memory_begun";

/// Sessions of turns inside turns that leave nothing behind.
const EPHEMERAL_PREFIX: &str = "temp/";

const RULE: &str = "When the user tells you what will matter in later conversations (a preference, a fact about them or \
                    their work, a decision), keep it without being asked: `memory.add` for what lasts; `memory.save` \
                    to correct it, with all of the long-term memory, old and new, because it replaces what stands there; \
                    `memory.daily` for what was done today.";

/// The date, the rule, and the memory. Unreadable parts are omitted and logged, because an error would end the turn.
pub fn of(turn: &Turn) -> Vec<SystemPart> {
    let today = day::of(&turn.started());
    let is_first = turn.get_json(BEGUN).is_none();
    if is_first {
        // Else it is done once more.
        let _ = turn.set(BEGUN, &true);
    }
    let mut zones = Vec::new();
    for scope in seen(turn) {
        match zone(turn, scope, &today, is_first) {
            Ok(zone) => zones.push((scope, zone)),
            Err(error) if is_first => {
                log::warn(format!("the {}'s memory is not shown: {}", scope.name(), error.message));
            }
            Err(_) => {}
        }
    }
    let may_write = may_write(turn);
    // The model needs date and memory to answer correctly, but not the rule.
    let date = part("date", format!("Today is {today}."), CutOrder::Last);
    let rule = may_write.then(|| part("memory-rule", RULE.to_owned(), CutOrder::Normal));
    let memory = block::of(&zones, &today, may_write).map(|block| part("memory", block, CutOrder::Last));
    [Some(date), rule, memory].into_iter().flatten().collect()
}

fn part(name: &str, text: String, cut: CutOrder) -> SystemPart {
    SystemPart::new(name, text).cut(cut)
}

/// The scopes that the turn may see. The owner's memory of other sessions is not shown to others.
pub fn seen(turn: &Turn) -> impl Iterator<Item = Scope> {
    let is_stranger = turn.principal() == Principal::Anonymous;
    scope::ALL.into_iter().filter(move |scope| *scope == Scope::Session || !is_stranger)
}

/// Whether the turn may call the writing tools.
fn may_write(turn: &Turn) -> bool {
    let allowed = turn.get::<Value>("allowed_tools").ok().flatten();
    let lists = |tools: Value| tools.as_array().is_none_or(|tools| tools.iter().any(|tool| tool == "memory.save"));
    turn.principal() == Principal::Owner && allowed.is_none_or(lists)
}

/// The zone as it holds. When a turn begins old notes are dropped; nothing is written where nothing is remembered.
fn zone(turn: &Turn, scope: Scope, today: &str, is_first: bool) -> Result<Snapshot> {
    let found = memory::read(turn, scope)?;
    let may_change = scope == Scope::Session || turn.principal() == Principal::Owner;
    if !may_change || turn.session_id().starts_with(EPHEMERAL_PREFIX) {
        return Ok(found.unwrap_or_default());
    }
    let zone = found.unwrap_or_default();
    if !is_first || !is_due(&zone, today) {
        return Ok(zone);
    }
    match prune(turn, scope, today) {
        Ok(()) => Ok(memory::read(turn, scope)?.unwrap_or_default()),
        // Retried in the next turn.
        Err(error) => {
            log::warn(format!("the {}'s memory stays as it is: {}", scope.name(), error.message));
            Ok(zone)
        }
    }
}

/// Whether notes have expired, and none were dropped today.
fn is_due(zone: &Snapshot, today: &str) -> bool {
    zone.pruned.as_deref() != Some(today) && zone.clone().prune(today, retention_days()) > 0
}

fn prune(turn: &Turn, scope: Scope, today: &str) -> Result<()> {
    memory::change(turn, scope, |zone| {
        if !is_due(zone, today) {
            return Ok(Changed::Leave(()));
        }
        zone.prune(today, retention_days());
        zone.pruned = Some(today.to_owned());
        Ok(Changed::Write(()))
    })
}

/// A table that is not as its schema says counts as if it were not there.
fn retention_days() -> i64 {
    config::load::<Settings>().map_or(RETENTION, |settings| settings.retention_days)
}
