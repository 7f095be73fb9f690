//! Sets of grants.

use crate::grant::Grant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The grants that a plugin holds, or asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Grants(BTreeSet<Grant>);

impl Grants {
    /// The set of grants with these texts.
    ///
    /// # Errors
    ///
    /// One of them is invalid. The error describes the problem, with a suggestion.
    pub fn parse<'a>(grants: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        grants.into_iter().map(str::parse).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the set allows `wanted`.
    pub fn allow(&self, wanted: &Grant) -> bool {
        self.0.iter().any(|grant| grant.covers(wanted))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }

    /// Adds a grant; returns whether it is new.
    pub fn insert(&mut self, grant: Grant) -> bool {
        self.0.insert(grant)
    }

    /// Removes a grant; returns whether it was there.
    pub fn remove(&mut self, grant: &Grant) -> bool {
        self.0.remove(grant)
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}

impl Extend<Grant> for Grants {
    fn extend<I: IntoIterator<Item = Grant>>(&mut self, grants: I) {
        self.0.extend(grants);
    }
}

impl TryFrom<Vec<String>> for Grants {
    type Error = String;

    fn try_from(grants: Vec<String>) -> Result<Self, String> {
        Self::parse(grants.iter().map(String::as_str))
    }
}

impl From<Grants> for Vec<String> {
    fn from(grants: Grants) -> Self {
        grants.0.into_iter().map(String::from).collect()
    }
}
