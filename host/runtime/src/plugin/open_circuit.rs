//! A plugin in quarantine, as people and other layers are told of it.

use bub_types::text::one_line;
use std::time::Duration;

/// A hook of a plugin in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCircuit {
    /// The plugin's name when it broke.
    pub plugin: String,
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
    /// The export that broke.
    pub hook: String,
    /// The caller that the quarantine is for; none: all callers.
    pub caller: Option<String>,
    /// The session that the quarantine is for; none: all sessions.
    pub session: Option<String>,
    /// The time until a trial call.
    pub left: Duration,
    /// Its latest fault.
    pub fault: String,
}

impl std::fmt::Display for OpenCircuit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whose = self.caller.as_ref().map(|caller| format!("for `{}` ", one_line(caller))).unwrap_or_default();
        let scope = match self.session.as_deref() {
            None => format!("{whose}in all sessions"),
            Some("") => format!("{whose}outside of sessions"),
            Some(session) => format!("{whose}in session `{}`", one_line(session)),
        };
        write!(
            f,
            "in quarantine {scope} for {} s, because it kept breaking (at last: {}); to lift it: bub-wasm plugin unquarantine {}",
            self.left.as_secs().max(1),
            self.fault,
            self.plugin
        )
    }
}
