//! A process group: a shell and its descendants that did not leave the group.

use super::member;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// A group, identified by its leader's id. The id may be reused once the group is empty, so an empty group is never
/// signalled again.
pub(super) struct Group {
    id: Pid,
    /// The leader was reaped.
    leaderless: AtomicBool,
    /// No signal may be sent any more.
    gone: AtomicBool,
    /// A member that was alive at the last check, or 0. While it is alive, no other member is searched for.
    known_member: AtomicI32,
}

impl Group {
    /// The group that the process `leader` leads. `None` if `leader` is not a process id.
    pub(super) fn led_by(leader: u32) -> Option<Self> {
        let id = i32::try_from(leader).ok().and_then(Pid::from_raw)?;
        Some(Self {
            id,
            leaderless: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            known_member: AtomicI32::new(0),
        })
    }

    /// The id of the group, which is its leader's.
    pub(super) fn id(&self) -> i32 {
        self.id.as_raw_pid()
    }

    /// Sends SIGTERM to every member. Stopped ones are continued, so that they receive it.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Sends SIGKILL to every member.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Marks the leader as reaped. Until then the group is not empty: a zombie is a member.
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
        // Zombies remain where init reaps orphans late or, as in many containers, never.
        let group = self.id.as_raw_pid();
        if member::is_alive(self.known_member.load(Ordering::Relaxed), group) == Some(true) {
            return false;
        }
        match member::find(group) {
            member::Search::One(id) => {
                self.known_member.store(id, Ordering::Relaxed);
                false
            }
            member::Search::None => true,
            member::Search::Unknown => false,
        }
    }

    /// Whether the group has no member, not even a zombie.
    fn is_empty(&self) -> bool {
        if self.gone.load(Ordering::Acquire) {
            return true;
        }
        if !self.leaderless.load(Ordering::Acquire) {
            return false;
        }
        // In a container this process may be init, which adopts orphans.
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
