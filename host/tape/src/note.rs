//! Facts about a tape that a store may record beside it.

/// A fact about a tape that no entry of the tape states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The tape begins as a copy of another.
    Fork {
        /// The tape that was copied.
        from: String,
        /// The last entry that was copied; `None`: all.
        through: Option<u64>,
    },
    /// A recording of a turn was written.
    Recording {
        /// The id of the turn.
        turn: String,
        /// SHA-256 of the manifest of the recording, in hex.
        digest: String,
    },
}
