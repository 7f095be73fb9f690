//! Descendants of a program that left its process group, for example by `setsid`.
//!
//! They are found through `/proc`, on Linux only, and only while their parents are alive.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashSet;
use std::fs;

/// Processes outside of some groups that were started inside of them.
#[derive(Default)]
pub(super) struct Descendants(Vec<Process>);

/// A process. Ids are reused; the start time tells two processes of one id apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    id: i32,
    started: u64,
}

/// The fields of `/proc/PID/stat` that are needed.
struct Stat {
    process: Process,
    is_alive: bool,
    parent: i32,
    group: i32,
}

impl Descendants {
    /// Adds descendants of these groups, and of the processes found before.
    pub(super) fn look(&mut self, groups: &HashSet<i32>) {
        let all: Vec<Stat> = ids().filter_map(stat).collect();
        let known = |process: &Process| self.0.contains(process);
        let of_group = |stat: &&Stat| groups.contains(&stat.group) || known(&stat.process);
        let mut family: HashSet<i32> = all.iter().filter(of_group).map(|stat| stat.process.id).collect();
        // Parents may come after their children in the list.
        loop {
            let before = family.len();
            family.extend(
                all.iter().filter(|stat| family.contains(&stat.parent)).map(|stat| stat.process.id).collect::<Vec<_>>(),
            );
            if family.len() == before {
                break;
            }
        }
        let outside = all.iter().filter(|stat| family.contains(&stat.process.id) && !groups.contains(&stat.group));
        let new: Vec<Process> = outside.map(|stat| stat.process).filter(|process| !known(process)).collect();
        self.0.extend(new);
    }

    /// Sends the signal to those that still run.
    pub(super) fn signal(&self, signal: Signal) {
        for process in self.0.iter().filter(|process| process.is_alive()) {
            if let Some(id) = Pid::from_raw(process.id) {
                // It may have ended just now.
                let _ = kill_process(id, signal);
            }
        }
    }

    /// Whether none was found.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether none of them is alive.
    pub(super) fn are_gone(&self) -> bool {
        !self.0.iter().any(Process::is_alive)
    }
}

impl Process {
    fn is_alive(&self) -> bool {
        stat(self.id).is_some_and(|stat| stat.is_alive && stat.process == *self)
    }
}

fn ids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Parses `1 (any name) S 0 7 ...`: id, name, state, parent, group; field 22 is the start time.
fn stat(id: i32) -> Option<Stat> {
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(stat.get(name_ends + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Stat { process: Process { id, started }, is_alive: !["Z", "X"].contains(&state), parent, group })
}
