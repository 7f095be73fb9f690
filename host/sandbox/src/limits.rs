//! Limits of what programs use: by a cgroup where one may be made, and by limits of each process.

use crate::confinement::Limits;
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io;
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

/// What the file system of a cgroup calls itself: the first version, and the second.
const CGROUP: i64 = 0x0027_e0eb;
const CGROUP_2: i64 = 0x6367_7270;

/// The cgroups of the programs of this process. Dropping it removes them if they are empty.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Those of the first version. A thread may join them without its process, and what it starts is in them from its
    /// beginning. To put a process into one takes longer: the system waits until no process starts or ends.
    threads: Vec<PathBuf>,
    /// Those of the second version, which only whole processes join.
    processes: Vec<PathBuf>,
}

thread_local! {
    /// The groups that this thread has joined.
    static JOINED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

impl Groups {
    /// New groups with these limits; none if this process may not make them.
    pub(crate) fn new(limits: &Limits) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mut made = Self::default();
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
            // Where the second version is not mounted, its place is a directory like any other.
            let wanted = if controllers.is_empty() { CGROUP_2 } else { CGROUP };
            if !rustix::fs::statfs(&root).is_ok_and(|system| system.f_type == wanted) {
                continue;
            }
            if let Some(group) = make(&root, path, settings) {
                let groups = if controllers.is_empty() { &mut made.processes } else { &mut made.threads };
                groups.push(group);
            }
        }
        (!made.threads.is_empty() || !made.processes.is_empty()).then_some(made)
    }

    /// Puts this thread, and what it starts from here on, into the groups that a thread may join.
    pub(crate) fn join(&self) -> io::Result<()> {
        JOINED.with_borrow_mut(|joined| {
            if *joined != self.threads {
                // Whatever goes wrong, the next start tries again.
                joined.clear();
                self.threads.iter().try_for_each(|group| fs::write(group.join("tasks"), "0"))?;
                joined.clone_from(&self.threads);
            }
            Ok(())
        })
    }

    /// Puts a process into the others.
    pub(crate) fn add(&self, process: i32) -> io::Result<()> {
        self.processes.iter().try_for_each(|group| fs::write(group.join("cgroup.procs"), process.to_string()))
    }

    /// The words that put a command into the groups that a thread cannot join.
    pub(crate) fn words(&self) -> Vec<OsString> {
        if self.processes.is_empty() {
            return Vec::new();
        }
        let script = "while [ \"$1\" != -- ]; do echo $$ > \"$1\" || exit 126; shift; done; shift; exec \"$@\"";
        let mut words = ["/bin/sh", "-c", script, "sh"].map(OsString::from).to_vec();
        words.extend(self.processes.iter().map(|group| group.join("cgroup.procs").into()));
        words.push("--".into());
        words
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in self.threads.iter().chain(&self.processes) {
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
