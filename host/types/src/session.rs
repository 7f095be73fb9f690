//! Session ids with a meaning of their own.

/// The prefix of the ids of sessions whose turns leave nothing behind.
pub const EPHEMERAL_PREFIX: &str = "temp/";

/// Whether the session's turns are not kept.
pub fn is_ephemeral(session_id: &str) -> bool {
    session_id.starts_with(EPHEMERAL_PREFIX)
}
