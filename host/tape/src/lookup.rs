//! What a tape is looked through for, from its end.

use super::entry::Entry;
use memchr::memmem::Finder;

/// Which entry is wanted, where the newest is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Any of that kind.
    Kind(String),
    /// An event or an anchor of that name, a section's anchor too.
    Named {
        /// `event` or `anchor`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// An anchor that a view may begin at: no section's.
    Phase,
    /// Any anchor, a section's too.
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

    /// Whether that entry is one.
    pub fn matches(&self, entry: &Entry) -> bool {
        match self {
            Self::Kind(kind) => entry.is(kind),
            Self::Named { kind, name } => entry.is(kind) && entry.name().as_deref() == Some(name),
            Self::Phase => entry.begins_phase(),
            Self::Anchor => entry.is("anchor"),
        }
    }

    /// A quick look at lines, which most need not be read behind.
    pub(super) fn prefilter(&self) -> LinePrefilter<'_> {
        let text = match self {
            Self::Kind(kind) => kind,
            Self::Named { name, .. } => name,
            Self::Phase | Self::Anchor => "anchor",
        };
        // What cannot stand in JSON as it is may stand there in several ways.
        let is_plain = !text.chars().any(|character| character.is_control() || matches!(character, '"' | '\\'));
        LinePrefilter(Finder::new(if is_plain { text } else { "" }))
    }
}

/// Whether an entry that is sought may stand in a line.
pub(super) struct LinePrefilter<'s>(Finder<'s>);

impl LinePrefilter<'_> {
    /// `false`: none does. The text that is looked for would stand there as it is, unless it is written with escapes, of
    /// which these two can stand for what needs none.
    pub(super) fn may_be(&self, line: &[u8]) -> bool {
        let has_escapes = || memchr::memchr_iter(b'\\', line).any(|at| matches!(line.get(at + 1), Some(b'u' | b'/')));
        self.0.find(line).is_some() || has_escapes()
    }
}
