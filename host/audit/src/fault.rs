//! What verification finds.

use std::fmt;

use super::record::TAPE;

/// How something was tampered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// It says something else.
    Changed,
    /// It is gone from between others.
    Removed,
    /// It stands at another place.
    Reordered,
    /// It was put between others.
    Inserted,
    /// The end is gone.
    CutOff,
}

/// Where it was tampered with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A record of the chain.
    Record(u64),
    /// An entry of the tape or of the sidecar of that name.
    Entry {
        /// The part: empty for the tape.
        part: String,
        /// The id.
        id: u64,
    },
    /// A line of the list of heads.
    Head(u64),
    /// A line of the list of keys.
    Key(u64),
    /// A line of the witness's list.
    Witness(u64),
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// How.
    pub kind: FaultKind,
    /// More about it; may be empty.
    pub why: String,
}

impl Fault {
    pub(crate) fn new(place: Place, kind: FaultKind, why: impl Into<String>) -> Self {
        Self { place, kind, why: why.into() }
    }

    pub(crate) fn record(seq: u64, kind: FaultKind, why: impl Into<String>) -> Self {
        Self::new(Place::Record(seq), kind, why)
    }

    pub(crate) fn entry(part: &str, id: u64, kind: FaultKind) -> Self {
        Self::new(Place::Entry { part: part.to_owned(), id }, kind, "")
    }
}

impl FaultKind {
    /// The word for it, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Reordered => "reordered",
            Self::Inserted => "inserted",
            Self::CutOff => "cut off",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(seq) => write!(f, "record {seq} of the chain"),
            Self::Entry { part, id } if part == TAPE => write!(f, "entry {id}"),
            Self::Entry { part, id } => write!(f, "entry {id} of sidecar `{part}`"),
            Self::Head(line) => write!(f, "line {line} of the signed heads"),
            Self::Key(line) => write!(f, "line {line} of the keys"),
            Self::Witness(line) => write!(f, "line {line} of the witness"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FaultKind::Changed => "was changed",
            FaultKind::Removed => "was removed",
            FaultKind::Reordered => "was moved",
            FaultKind::Inserted => "was inserted",
            FaultKind::CutOff => "and what followed was cut off",
        };
        write!(f, "{} {what}", self.place)?;
        if self.why.is_empty() { Ok(()) } else { write!(f, " ({})", self.why) }
    }
}
