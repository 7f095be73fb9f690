//! Files that the program obeys: how they are read, who else may write them, and where they really lie.
//!
//! **Invariant**: this room knows nothing of what stands in a file; it answers for which file it is, and whose.

mod access;
mod directory;
mod protected;
mod read;

pub use access::{Access, check_directory};
pub use directory::make_private_dir;
pub use protected::{Change, ProtectedFiles};
pub use read::{read_regular, read_text};
