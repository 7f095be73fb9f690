//! What entries are queried by.

/// Where the entries that a query looks at begin. Anchors themselves are never among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The first entry.
    #[default]
    First,
    /// Behind the newest anchor that is no section's.
    LastAnchor,
    /// Behind the newest anchor of that name, a section's too.
    AfterAnchor(String),
    /// Between the newest anchor of the second name and the newest of the first before it.
    BetweenAnchors(String, String),
    /// After the entry with that id.
    AfterId(u64),
}

/// Which entries are wanted. [`Query::default`] wants all, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Where the result begins.
    pub start: Start,
    /// Empty: all.
    pub kinds: Vec<String>,
    /// Only events and anchors of that name.
    pub name: Option<String>,
    /// Stands somewhere in the entry's line, in any script, upper or lower case.
    pub text: Option<String>,
    /// Both ends inclusive. A bare date covers its whole day; without an offset it is UTC.
    pub since: Option<String>,
    /// Upper bound of dates, see `since`.
    pub until: Option<String>,
    /// Whether to return the newest entries first.
    pub newest_first: bool,
    /// The first so many of the result.
    pub limit: Option<usize>,
}
