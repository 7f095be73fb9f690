//! What a tool call may do: by who caused the turn, whether text from outside is in it, and what the tool does.
//!
//! Injection cannot be detected. What an injected model may do can be bounded.

use crate::plugin::bindings::Principal;
use crate::plugin::bindings::schema::Effect;

/// What the host says to a tool call, after all plugins have had their say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is made.
    Allow,
    /// The owner is asked.
    Ask,
    /// It is not made.
    Deny,
}

/// A clean owner may do everything, and is asked for all but reading once text from outside is in the turn. Others may
/// read what the channel lists.
pub fn judge(principal: Principal, is_tainted: bool, effect: Effect, is_listed: bool) -> Verdict {
    match (principal, effect) {
        (Principal::Owner, _) if !is_tainted => Verdict::Allow,
        (Principal::Owner, Effect::Read) => Verdict::Allow,
        (Principal::Owner, _) => Verdict::Ask,
        (_, Effect::Read) if is_listed => Verdict::Allow,
        _ => Verdict::Deny,
    }
}
