//! That bubblewrap works here, kept for later processes.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file in the cache.
const FILE: &str = "sandbox";

/// What decides whether namespaces may be made, beside the program: the start of the system, the namespaces and the profile
/// of this process, and settings of the kernel.
const FILES: [&str; 5] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/self/attr/current",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
];
const LINKS: [&str; 5] =
    ["/proc/self/ns/user", "/proc/self/ns/mnt", "/proc/self/ns/pid", "/proc/self/ns/net", "/proc/self/root"];

/// Lines of `/proc/self/status` that decide, too.
const STATUS: [&str; 8] =
    ["Uid:", "Gid:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:", "CapPrm:", "CapEff:", "CapBnd:"];

/// Words for whether its namespaces may be entered.
const ENTERED: &str = "entered";
const CLOSED: &str = "closed";

/// The circumstances in which something is known.
pub(crate) struct Known(String);

impl Known {
    /// Those of now.
    pub(crate) fn new(program: &Path) -> Self {
        let mut text = format!("{}\n", program.display());
        if let Ok(known) = program.metadata() {
            let times = (known.mtime(), known.mtime_nsec(), known.ctime(), known.ctime_nsec());
            let _ = writeln!(text, "{} {} {} {times:?}", known.dev(), known.ino(), known.size());
        }
        for file in FILES {
            let _ = writeln!(text, "{}", fs::read_to_string(file).unwrap_or_default().trim());
        }
        for link in LINKS {
            let _ = writeln!(text, "{}", fs::read_link(link).unwrap_or_default().display());
        }
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        for line in status.lines().filter(|line| STATUS.iter().any(|name| line.starts_with(name))) {
            let _ = writeln!(text, "{line}");
        }
        Self(text)
    }

    /// The file in that cache.
    pub(crate) fn file(cache: &Path) -> PathBuf {
        cache.join(FILE)
    }

    /// Whether the namespaces may be entered, if bubblewrap has worked in these circumstances.
    pub(crate) fn read(&self, cache: &Path) -> Option<bool> {
        let text = fs::read_to_string(Self::file(cache)).ok()?;
        match text.strip_prefix(&self.0)? {
            ENTERED => Some(true),
            CLOSED => Some(false),
            _ => None,
        }
    }

    /// Keeps it. Where that fails, the next process finds it out again.
    pub(crate) fn write(&self, cache: &Path, may_enter: bool) {
        let text = format!("{}{}", self.0, if may_enter { ENTERED } else { CLOSED });
        let new = Self::file(cache).with_extension(std::process::id().to_string());
        if fs::write(&new, text).and_then(|()| fs::rename(&new, Self::file(cache))).is_err() {
            let _ = fs::remove_file(new);
        }
    }
}
