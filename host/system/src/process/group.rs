//! A process group: a shell and all that it started and that did not leave.

use super::member;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// A group, identified by its leader's id. The id may be reused once the group is empty, so an empty group is never
/// signalled again.
pub(super) struct Group {
    id: Pid,
    /// The leader was waited for.
    leaderless: AtomicBool,
    /// No signal may be sent any more.
    gone: AtomicBool,
    /// A member that was alive when last looked at, or 0. While it is alive, no other member is searched for.
    known_member: AtomicI32,
}

impl Group {
    /// The group that the process `leader` leads. `None` when that is no id of a process.
    pub(super) fn led_by(leader: u32) -> Option<Self> {
        let id = i32::try_from(leader).ok().and_then(Pid::from_raw)?;
        Some(Self {
            id,
            leaderless: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            known_member: AtomicI32::new(0),
        })
    }

    /// The number of the group, which is that of its leader.
    pub(super) fn id(&self) -> i32 {
        self.id.as_raw_pid()
    }

    /// Asks every member to end. Those that were stopped are woken, for they hear nothing else.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Ends every member.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Says that the leader was waited for. Until then the group is not empty: a zombie is a member.
    pub(super) fn leader_exited(&self) {
        self.leaderless.store(true, Ordering::Release);
    }

    /// Kills remaining members and marks the group as gone: its id may be reused.
    pub(super) fn reap_group(&self) {
        self.kill();
        self.gone.store(true, Ordering::Release);
    }

    /// Whether no member is alive.
    pub(super) fn is_gone(&self) -> bool {
        if !self.leaderless.load(Ordering::Acquire) {
            return false;
        }
        if self.is_empty() {
            return true;
        }
        // Zombies remain where init reaps orphans late or, in many containers, never.
        let group = self.id.as_raw_pid();
        if member::is_alive(self.known_member.load(Ordering::Relaxed), group) == Some(true) {
            return false;
        }
        match member::find(group) {
            member::Search::One(id) => {
                self.known_member.store(id, Ordering::Relaxed);
                false
            }
            member::Search::Nobody => true,
            member::Search::Unknown => false,
        }
    }

    /// Whether the system knows of no member, not even a zombie.
    fn is_empty(&self) -> bool {
        if self.gone.load(Ordering::Acquire) {
            return true;
        }
        if !self.leaderless.load(Ordering::Acquire) {
            return false;
        }
        // In a container this program may itself be the one that orphans fall to.
        while let Ok(Some(_)) = waitpgid(self.id, WaitOptions::NOHANG) {}
        let empty = test_kill_process_group(self.id) == Err(Errno::SRCH);
        if empty {
            self.gone.store(true, Ordering::Release);
        }
        empty
    }

    fn signal(&self, signal: Signal) {
        if !self.is_empty() {
            // Fails only if a member just ended or runs as another user; see `is_gone`.
            let _ = kill_process_group(self.id, signal);
        }
    }
}
