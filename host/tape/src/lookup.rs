//! Lookups of the newest matching entry.

use super::entry::Entry;
use memchr::memmem::Finder;

/// Selects the newest matching entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Any entry of that kind.
    Kind(String),
    /// An event or an anchor (section anchors included) of that name.
    Named {
        /// `event` or `anchor`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// An anchor that begins a phase, not a section's.
    Phase,
    /// Any anchor, section anchors included.
    Anchor,
}

impl Lookup {
    /// The anchor of that name.
    pub fn anchor(name: &str) -> Self {
        Self::Named { kind: "anchor".to_owned(), name: name.to_owned() }
    }

    /// The event of that name.
    pub fn event(name: &str) -> Self {
        Self::Named { kind: "event".to_owned(), name: name.to_owned() }
    }

    /// Whether that entry matches.
    pub fn matches(&self, entry: &Entry) -> bool {
        match self {
            Self::Kind(kind) => entry.is(kind),
            Self::Named { kind, name } => entry.is(kind) && entry.name().as_deref() == Some(name),
            Self::Phase => entry.begins_phase(),
            Self::Anchor => entry.is("anchor"),
        }
    }

    /// A prefilter for lines, so that most need not be parsed.
    pub(super) fn prefilter(&self) -> LinePrefilter<'_> {
        let text = match self {
            Self::Kind(kind) => kind,
            Self::Named { name, .. } => name,
            Self::Phase | Self::Anchor => "anchor",
        };
        // Characters that JSON must escape can be escaped in several ways.
        let is_plain = !text.chars().any(|character| character.is_control() || matches!(character, '"' | '\\'));
        LinePrefilter(Finder::new(if is_plain { text } else { "" }))
    }
}

/// Tells whether a line may contain a matching entry.
pub(super) struct LinePrefilter<'s>(Finder<'s>);

impl LinePrefilter<'_> {
    /// `false`: it does not. The text occurs literally unless it is escaped; these two escapes may encode characters
    /// that need none.
    pub(super) fn may_be(&self, line: &[u8]) -> bool {
        let has_escapes = || memchr::memchr_iter(b'\\', line).any(|at| matches!(line.get(at + 1), Some(b'u' | b'/')));
        self.0.find(line).is_some() || has_escapes()
    }
}
