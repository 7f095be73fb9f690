//! What a confined program may reach.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a program may reach. Everything that is not listed is out of reach, apart from the system's own files, which are
/// read-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Read and written. Absolute.
    pub workspace: PathBuf,
    /// The user's home, which is replaced by `private/home`. None if the user has none.
    pub home: Option<PathBuf>,
    /// A directory of the session: `tmp` in it is the program's `/tmp`, and `home` its home.
    pub private: PathBuf,
    /// Files and directories outside of the workspace that may be read.
    pub read: Vec<PathBuf>,
    /// The same that may be written, too.
    pub write: Vec<PathBuf>,
    /// Files and directories in the workspace that may be read only, because something outside of the sandbox runs or
    /// obeys them later.
    pub keep: Vec<PathBuf>,
    /// Files and directories that are out of reach wherever they are, the workspace included.
    pub hide: Vec<PathBuf>,
    /// What it may connect to.
    pub network: Network,
    /// What it may use.
    pub limits: Limits,
}

/// The network of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// None, apart from a loopback interface of its own.
    Off,
    /// The same, and a proxy behind this Unix socket: HTTP and SOCKS5 on one port, which the usual variables name.
    Proxy {
        /// The socket, outside of the sandbox. None: this process listens inside ([`Listeners`](crate::Listeners)).
        socket: Option<PathBuf>,
        /// Ports of the machine that are the same ports inside, as `127.0.0.1:5432`.
        loopback: Vec<String>,
    },
    /// That of the machine.
    Free,
}

/// What a program may use. 0: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads.
    pub processes: u64,
    /// Memory in bytes: of all its processes together where the system has cgroups that may be used, else of each.
    pub memory: u64,
    /// The largest file that it writes, in bytes.
    pub file: u64,
    /// CPU seconds of each process.
    pub cpu_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: 1024, memory: 8 << 30, file: 4 << 30, cpu_seconds: 3600 }
    }
}
