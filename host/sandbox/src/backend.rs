//! What holds programs: as it is configured, and as it is found.

use std::fmt;
use std::path::PathBuf;

/// `[process] sandbox`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting {
    /// The best that is there.
    #[default]
    Auto,
    /// Bubblewrap alone.
    Bwrap,
    /// Landlock alone.
    Landlock,
    /// None.
    Off,
}

impl Setting {
    /// All names.
    pub const NAMES: [&'static str; 4] = ["auto", "bwrap", "landlock", "off"];

    /// The setting of that name.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Auto, Self::Bwrap, Self::Landlock, Self::Off];
        all.into_iter().zip(Self::NAMES).find(|(_, known)| *known == name).map(|(setting, _)| setting)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bwrap => "bwrap",
            Self::Landlock => "landlock",
            Self::Off => "off",
        }
    }
}

/// A backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Bubblewrap, at that path.
    Bwrap(PathBuf),
    /// Landlock with seccomp, and namespaces as far as the system has them for this user.
    Landlock {
        /// Whether processes, sockets and the network are apart.
        has_namespaces: bool,
        /// Whether the file system can be arranged, too.
        has_mounts: bool,
    },
    /// None: programs run as any other of the user.
    None,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bwrap(_) => "bwrap",
            Self::Landlock { .. } => "landlock",
            Self::None => "none",
        })
    }
}
