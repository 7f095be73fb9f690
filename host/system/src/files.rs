//! Files that control the program: reading them, checking their owners and modes, and resolving their real locations.
//!
//! **Invariant**: this module knows identities and owners of files, not their contents.

mod access;
mod directory;
mod draft;
mod protected;
mod read;
mod temporary;
mod watched;

pub use access::{Access, check_directory};
pub use directory::make_private_dir;
pub use draft::Draft;
pub use protected::{Change, ProtectedFiles};
pub use read::{read_inside, read_regular, read_text};
pub use temporary::{TemporaryDirectory, remove_abandoned};
pub use watched::WatchedFile;
