//! Files that the program obeys: how they are read, who else may write them, and where they really lie.
//!
//! **Invariant**: this module knows identities and owners of files, not their contents.

mod access;
mod directory;
mod draft;
mod protected;
mod read;

pub use access::{Access, check_directory};
pub use directory::make_private_dir;
pub use draft::Draft;
pub use protected::{Change, ProtectedFiles};
pub use read::{read_regular, read_text};
