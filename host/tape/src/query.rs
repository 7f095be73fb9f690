//! Queries of entries.

/// Where the results of a query begin. Anchors used as bounds are not included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The first entry.
    #[default]
    First,
    /// After the newest anchor that is not a section's.
    LastAnchor,
    /// After the newest anchor of that name, section anchors included.
    AfterAnchor(String),
    /// Between the newest anchor of the second name and the newest of the first before it.
    BetweenAnchors(String, String),
    /// After the entry with that id.
    AfterId(u64),
}

/// Selects entries. [`Query::default`] selects all, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Where the result begins.
    pub start: Start,
    /// Empty: all.
    pub kinds: Vec<String>,
    /// Only events and anchors of that name.
    pub name: Option<String>,
    /// A substring of the entry's line, ignoring case.
    pub text: Option<String>,
    /// Lower bound of dates. Bounds are inclusive; a date covers its whole day, and without an offset it is UTC.
    pub since: Option<String>,
    /// Upper bound of dates, see `since`.
    pub until: Option<String>,
    /// Whether to return the newest entries first.
    pub newest_first: bool,
    /// Maximum number of results.
    pub limit: Option<usize>,
}
