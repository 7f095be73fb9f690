//! Session ids with a meaning of their own.

/// The prefix of the ids of sessions whose turns leave nothing behind.
pub const EPHEMERAL_PREFIX: &str = "temp/";

/// Whether the session's turns are not kept.
pub fn is_ephemeral(session_id: &str) -> bool {
    session_id.starts_with(EPHEMERAL_PREFIX)
}

/// Checks an id that a person or a client gives to a session.
///
/// # Errors
///
/// What an id is.
pub fn check_session_id(session_id: &str) -> Result<(), &'static str> {
    let is_plain = (1..=256).contains(&session_id.len()) && !session_id.chars().any(char::is_control);
    match is_plain && !is_ephemeral(session_id) {
        true => Ok(()),
        false => Err("a session's id has 1 to 256 bytes, no control characters, and does not begin with `temp/`"),
    }
}
