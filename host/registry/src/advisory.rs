//! Advisories about plugins: a local file in the format of OSV, or a list of such.
//!
//! A plugin is meant by an advisory if it has one of the listed digests, or its name with one of the listed versions. OSV
//! has no digests, so they are in `database_specific` of a package, the place that OSV keeps for this.

use crate::{Digest, Locked};
use anyhow::{Context, Result, ensure};
use bub_system::files::read_regular;
use bub_types::text::{clipped, one_line};
use semver::Version;
use serde::Deserialize;
use std::path::Path;

/// The largest file that is read, in bytes.
const MAX_FILE: usize = 16 << 20;

/// The ecosystem of our packages.
pub const ECOSYSTEM: &str = "bub-wasm";

/// Advisories.
#[derive(Debug, Clone, Default)]
pub struct Advisories(Vec<Advisory>);

/// One advisory, the part of OSV that is read. Unknown fields are allowed, as OSV says.
#[derive(Debug, Clone, Deserialize)]
struct Advisory {
    id: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    withdrawn: Option<String>,
    #[serde(default)]
    affected: Vec<Affected>,
}

#[derive(Debug, Clone, Deserialize)]
struct Affected {
    #[serde(default)]
    package: Option<Package>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    database_specific: Specific,
}

#[derive(Debug, Clone, Deserialize)]
struct Package {
    ecosystem: String,
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Range {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Debug, Clone, Deserialize)]
struct Event {
    introduced: Option<String>,
    fixed: Option<String>,
    last_affected: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Specific {
    #[serde(default)]
    digests: Vec<String>,
}

/// What an advisory says of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The id of the advisory.
    pub id: String,
    /// What it says, in a sentence.
    pub summary: String,
}

impl Advisories {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// One line that names the file: it cannot be read, is too large, or is not understood.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let (bytes, _) = read_regular(path, MAX_FILE + 1).with_context(|| format!("`{shown}` cannot be read"))?;
        ensure!(bytes.len() <= MAX_FILE, "`{shown}` is larger than {} MiB", MAX_FILE >> 20);
        Self::parse(&bytes).with_context(|| format!("`{shown}` is not a file of advisories"))
    }

    /// Parses one advisory, or a list of them.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).context("it is not UTF-8")?;
        let wrong = |error: serde_json::Error| anyhow::anyhow!("{}", one_line(&error.to_string()));
        let all = match text.trim_start().starts_with('[') {
            true => serde_json::from_str(text).map_err(wrong)?,
            false => vec![serde_json::from_str(text).map_err(wrong)?],
        };
        let advisories = Self(all);
        for affected in advisories.0.iter().flat_map(|advisory| &advisory.affected) {
            for digest in &affected.database_specific.digests {
                digest.parse::<Digest>()?;
            }
        }
        Ok(advisories)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is said of a plugin with that digest in hex, of which `locked` is known.
    pub fn find(&self, name: &str, digest: &str, locked: Option<&Locked>) -> Option<Finding> {
        let version = locked.and_then(|locked| locked.version.as_deref());
        // A package is named as in its registry, or by the name of the plugin alone.
        let repository = locked.and_then(|locked| {
            let rest = locked.source.strip_prefix("oci://")?;
            let slash = rest.find('/')?;
            let end = rest[slash..].find([':', '@']).map_or(rest.len(), |end| slash + end);
            Some(&rest[..end])
        });
        let is_meant = |affected: &Affected| {
            let has_digest = affected.database_specific.digests.iter().any(|listed| listed.ends_with(digest));
            let is_named = affected.package.as_ref().is_some_and(|package| {
                package.ecosystem == ECOSYSTEM && (package.name == name || Some(package.name.as_str()) == repository)
            });
            has_digest || is_named && version.is_some_and(|version| affected.covers(version))
        };
        let advisory = self
            .0
            .iter()
            .filter(|advisory| advisory.withdrawn.is_none())
            .find(|advisory| advisory.affected.iter().any(is_meant))?;
        let plain = |text: &str| clipped(&one_line(text), 200);
        Some(Finding { id: plain(&advisory.id), summary: plain(&advisory.summary) })
    }
}

impl Affected {
    fn covers(&self, version: &str) -> bool {
        if self.versions.iter().any(|listed| listed == version) {
            return true;
        }
        let Ok(version) = Version::parse(version) else { return false };
        self.ranges.iter().filter(|range| range.kind == "SEMVER").any(|range| range.covers(&version))
    }
}

impl Range {
    /// Whether the last event at or before the version leaves it affected, as OSV evaluates ranges.
    fn covers(&self, version: &Version) -> bool {
        let parse = |text: &str| if text == "0" { Version::new(0, 0, 0) } else { version_or_zero(text) };
        let mut is_affected = false;
        let mut events: Vec<(Version, bool, bool)> = Vec::new();
        for event in &self.events {
            let entries =
                [(&event.introduced, true, false), (&event.fixed, false, false), (&event.last_affected, false, true)];
            for (text, starts, inclusive) in entries {
                events.extend(text.as_deref().map(|text| (parse(text), starts, inclusive)));
            }
        }
        events.sort();
        for (at, starts, inclusive) in events {
            let is_past = if inclusive { *version > at } else { *version >= at };
            if is_past {
                is_affected = starts;
            }
        }
        is_affected
    }
}

fn version_or_zero(text: &str) -> Version {
    Version::parse(text).unwrap_or(Version::new(0, 0, 0))
}
