//! Newer programs: a signed index of releases, and the exchange of the program's file.
//!
//! An index names the archives of each release with their sizes and digests, and one signature is for all of it. Nothing is
//! run before index, signature and digest were verified, and there is a whole program at the path at any moment.
//!
//! | module | content |
//! | --- | --- |
//! | `index` | the format of an index, and what is checked in it |
//! | `source` | where an index is: a folder, or an address |
//! | `seen` | the newest index that was seen, in the home |
//! | `archive` | the program in an archive |
//! | `program` | the program's file: its exchange and its predecessor |
//! | `manager` | who else updates it |
//! | `trial` | whether a program works here |
//! | `publish` | how an index is made |
//!
//! The crate knows nothing of the configuration, of plugins and of tapes.

#![warn(missing_docs, unreachable_pub)]

mod archive;
mod index;
mod package_manager;
mod program;
mod publish;
mod seen;
mod source;
mod trial;

pub use index::{Archive, INDEX_FILE, Index, Release};
pub use package_manager::manager;
pub use program::{Program, Workplace};
pub use publish::{Publication, publish};
pub use seen::SEEN_FILE;
pub use source::Source;
pub use trial::Trial;

/// The name of the program in indexes and archives.
pub const NAME: &str = "bub-wasm";

/// The target that this program was built for.
pub const TARGET: &str = env!("BUB_TARGET");

/// The address of the index that this build was given.
pub const BUILT_IN_INDEX: Option<&str> = option_env!("BUB_RELEASE_INDEX");

/// The public key for that index.
pub const BUILT_IN_KEY: Option<&str> = option_env!("BUB_RELEASE_PUBLIC_KEY");

/// The longest version, in bytes.
const MAX_VERSION: usize = 64;

/// A version of a release.
///
/// # Errors
///
/// It is not one.
pub fn version(text: &str) -> anyhow::Result<semver::Version> {
    let parsed = (text.len() <= MAX_VERSION).then(|| semver::Version::parse(text).ok()).flatten();
    anyhow::Context::with_context(parsed, || {
        format!("`{}` is not a version like 1.2.3", bub_types::text::escaped(text, MAX_VERSION))
    })
}
