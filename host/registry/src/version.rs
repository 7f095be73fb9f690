//! The order of versions.

use semver::Version;

/// The newest of these tags that is a release of a semantic version; without one, the newest version before a release.
pub fn newest<'a>(tags: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let versions = tags.into_iter().filter_map(|tag| Some((parse(tag)?, tag)));
    versions.max_by_key(|(version, _)| (version.pre.is_empty(), version.clone())).map(|(_, tag)| tag)
}

/// Whether `tag` is newer than `than`. What is no semantic version is older than what is.
pub fn is_newer(tag: &str, than: &str) -> bool {
    parse(tag) > parse(than)
}

/// A tag as a version; a leading `v` is common.
fn parse(tag: &str) -> Option<Version> {
    Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()
}
