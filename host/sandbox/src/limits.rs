//! Limits of what programs use: by a cgroup where one may be made, and by limits of each process.

use crate::confinement::Limits;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "bub-wasm-";

/// The words before a command that set the limits of its process. A shell sets them inside of the sandbox: the limit of
/// processes counts all of a user, and there are none of this user yet in a new user namespace.
pub(crate) fn words(limits: &Limits) -> Vec<OsString> {
    let mut script = String::new();
    let mut add = |value: u64, unit: u64, options: &[&str]| {
        if value > 0 {
            let value = value.div_ceil(unit);
            let tries: Vec<String> = options.iter().map(|option| format!("ulimit {option} {value}")).collect();
            script.push_str(&format!("{{ {}; }} 2>/dev/null; ", tries.join(" || ")));
        }
    };
    // `-p` in dash, `-u` in bash, where `-p` is of pipes and fails.
    add(limits.processes, 1, &["-p", "-u"]);
    add(limits.file, 512, &["-f"]);
    add(limits.cpu_seconds, 1, &["-t"]);
    add(limits.memory, 1024, &["-d"]);
    if script.is_empty() {
        return Vec::new();
    }
    // Dumps of memory would be files of the workspace.
    script.push_str("ulimit -c 0; exec \"$@\"");
    ["/bin/sh", "-c", &script, "sh"].map(OsString::from).into()
}

/// The cgroups of the programs of this process. Dropping it removes them if they are empty.
#[derive(Debug)]
pub(crate) struct Groups(Vec<PathBuf>);

impl Groups {
    /// New groups with these limits; none if this process may not make them.
    pub(crate) fn new(limits: &Limits) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mut made = Self(Vec::new());
        for line in own.lines() {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            let settings: &[(&str, u64)] = match controllers {
                "" => &[("pids.max", limits.processes), ("memory.max", limits.memory)],
                "pids" => &[("pids.max", limits.processes)],
                "memory" => &[("memory.limit_in_bytes", limits.memory)],
                _ => continue,
            };
            let root = Path::new(ROOT).join(controllers);
            if let Some(group) = make(&root, path, settings) {
                made.0.push(group);
            }
        }
        (!made.0.is_empty()).then_some(made)
    }

    /// The words that put a command into the groups.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let script = "while [ \"$1\" != -- ]; do echo $$ > \"$1\" || exit 126; shift; done; shift; exec \"$@\"";
        let mut words = ["/bin/sh", "-c", script, "sh"].map(OsString::from).to_vec();
        words.extend(self.0.iter().map(|group| group.join("cgroup.procs").into()));
        words.push("--".into());
        words
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in &self.0 {
            let _ = fs::remove_dir(group);
        }
    }
}

/// A group beside that of this process, or beside one that contains it, with all of these settings.
fn make(root: &Path, path: &str, settings: &[(&str, u64)]) -> Option<PathBuf> {
    // A group that has processes has none inside it with controllers.
    let own = root.join(path.trim_start_matches('/'));
    let above = own.ancestors().skip(usize::from(own != *root)).take_while(|above| above.starts_with(root));
    for above in above {
        remove_abandoned(above);
        let group = above.join(format!("{PREFIX}{}", std::process::id()));
        if fs::create_dir(&group).is_err() && !group.is_dir() {
            continue;
        }
        let wanted = settings.iter().filter(|(_, value)| *value > 0);
        if wanted.into_iter().all(|(file, value)| fs::write(group.join(file), value.to_string()).is_ok()) {
            return Some(group);
        }
        let _ = fs::remove_dir(&group);
    }
    None
}

/// Removes the groups of processes that have ended.
fn remove_abandoned(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if id.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            // Fails while something runs in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
