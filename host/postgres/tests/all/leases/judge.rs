//! Invariants at the end of a run. Each failover may lose the announcement of an effect, which is then repeated.

use super::world::{Entry, MESSAGES, World};

pub fn judge(world: &World) -> Result<(), &'static str> {
    if world.effects.iter().any(|(_, held)| !held) {
        return Err("an effect outside of the lease");
    }
    // A failover may lose a message that was accepted; without one, all are there.
    if world.failovers == 0 && world.state.inbox.len() < MESSAGES {
        return Err("an accepted message is lost");
    }
    for message in world.state.inbox.iter().copied() {
        let count = |wanted: Entry| world.state.tape.iter().filter(|entry| **entry == wanted).count();
        if count(Entry::Answer(message)) != 1 {
            return Err("a message does not have exactly one turn");
        }
        if count(Entry::Intent(message)) > 1 || count(Entry::Result(message)) > 1 {
            return Err("an entry is there twice");
        }
        if world.effects.iter().filter(|(of, _)| *of == message).count() > 1 + world.failovers {
            return Err("an effect is repeated");
        }
    }
    let answers = world.state.tape.iter().filter_map(|entry| match entry {
        Entry::Answer(message) => Some(*message),
        _ => None,
    });
    if !answers.is_sorted() {
        return Err("turns are not in the order of their messages");
    }
    Ok(())
}
