//! What a tape is looked through for, from its end.

use super::entry::Entry;

/// Which entry is wanted, where the newest is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Any of that kind.
    Kind(String),
    /// An event or an anchor of that name, a zone's anchor too.
    Named { kind: String, name: String },
    /// An anchor that a view may begin at: no zone's.
    Phase,
    /// Any anchor, a zone's too.
    Anchor,
}

impl Sought {
    /// The anchor of that name.
    pub fn anchor(name: &str) -> Self {
        Self::Named { kind: "anchor".to_owned(), name: name.to_owned() }
    }

    /// The event of that name.
    pub fn event(name: &str) -> Self {
        Self::Named { kind: "event".to_owned(), name: name.to_owned() }
    }

    /// Whether that entry is one.
    pub fn is(&self, entry: &Entry) -> bool {
        match self {
            Self::Kind(kind) => entry.kind == *kind,
            Self::Named { kind, name } => entry.kind == *kind && entry.name().as_deref() == Some(name),
            Self::Phase => entry.begins_phase(),
            Self::Anchor => entry.kind == "anchor",
        }
    }
}
