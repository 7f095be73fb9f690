//! Modes of a session: when tool calls need the user's word.

use agent_client_protocol_schema::v1::{SessionMode, SessionModeState};
use bub_config::Policy;
use bub_permissions::policy::ApprovalMode;
use bub_runtime::turn::ApprovalRules;

/// Asks about everything but changes to files.
const EDITS: &str = "edits";

/// Each mode with its name and what it means.
const MODES: [(&str, &str, &str); 5] = [
    ("ask", "Ask", "Asks before each call that does more than read"),
    ("auto", "Auto", "Asks before calls that do more than read once text from outside is in the conversation"),
    (EDITS, "Allow edits", "Writes files without asking, and asks before it runs or sends anything"),
    ("read-only", "Read only", "Denies each call that does more than read"),
    ("all", "Allow all", "Never asks"),
];

/// The mode of a new session.
pub(crate) fn initial(policy: &Policy) -> &'static str {
    policy.approve.name()
}

/// The modes, and the current one.
pub(crate) fn state(current: &str) -> SessionModeState {
    let modes = MODES.map(|(id, name, about)| SessionMode::new(id.to_owned(), name).description(about));
    SessionModeState::new(current.to_owned(), modes.to_vec())
}

/// The mode of that id with its rules; none: there is no such mode.
pub(crate) fn rules(id: &str, policy: &Policy) -> Option<(&'static str, ApprovalRules)> {
    let (known, ..) = MODES.into_iter().find(|(known, ..)| *known == id)?;
    let mut allowed = policy.allowed.clone();
    if known == EDITS {
        allowed.push("write".to_owned());
    }
    let mode = ApprovalMode::parse(known).unwrap_or(ApprovalMode::Ask);
    Some((known, ApprovalRules { mode, allowed }))
}

/// The ids, for a line about an unknown one.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    MODES.into_iter().map(|(id, ..)| id)
}
