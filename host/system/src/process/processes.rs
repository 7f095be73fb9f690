//! All programs of the host.

use super::child::Child;
use super::end::end;
use super::error::{Error, Result};
use super::group::Group;
use super::life::Life;
use super::program::Program;
use super::tend::tend;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Programs of a session that may run at once.
pub const MAX_RUNNING_OF_SESSION: usize = 8;

/// Programs of all sessions that may run at once.
pub const MAX_RUNNING: usize = 32;

/// Programs that have ended and whose output is kept for somebody to read.
const MAX_FINISHED: usize = 64;

/// How long they are kept.
const FINISHED_FOR: Duration = Duration::from_secs(3600);

/// All programs that this process has started and that may still run.
static ALL: Mutex<Vec<Weak<Life>>> = Mutex::new(Vec::new());

/// Kills the groups of all programs at once, without waiting for anything: the process is about to exit, with tasks that
/// nobody waits for.
pub fn kill_all() {
    let all = std::mem::take(&mut *ALL.lock());
    all.iter().filter_map(Weak::upgrade).for_each(|life| life.group.kill());
}

/// The programs of one host. Dropped, it kills all that run.
#[derive(Default)]
pub struct Processes {
    /// In the order of their start.
    lives: Mutex<Vec<Arc<Life>>>,
}

impl Processes {
    /// No programs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a program. It is not asynchronous, so that no caller who leaves can leave a program behind that nobody
    /// knows of.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] when 8 programs of the session or 32 in all run; [`Error::NotFound`] when the directory is
    /// missing; [`Error::InvalidInput`] when the command is too long or has a zero byte; [`Error::Io`] when the system
    /// refuses.
    pub fn spawn(&self, program: &Program<'_>) -> Result<Child> {
        // Held all the while: two that ask at once must not both be the eighth.
        let mut lives = self.lives();
        forget(&mut lives);
        admit(&lives, program.session)?;
        let (shell, output) = program.start()?;
        let Some(group) = shell.id().and_then(Group::led_by) else {
            return Err(Error::Io { action: "start a program".to_owned(), source: io::Error::other("it has no id") });
        };
        let life = Arc::new(Life::new(new_id(&lives), program.session, program.turn, group));
        let mut all = ALL.lock();
        all.retain(|life| life.upgrade().is_some_and(|life| !life.is_over()));
        all.push(Arc::downgrade(&life));
        drop(all);
        tokio::spawn(tend(Arc::clone(&life), shell, output));
        lives.push(Arc::clone(&life));
        Ok(Child::new(life))
    }

    /// A program of that session, running or ended. One that has ended is forgotten once its output was read to the end,
    /// after an hour, or when more than 64 wait to be read.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when the session has none of that id, whether or not another has.
    pub fn find(&self, session: &str, id: &str) -> Result<Child> {
        let mut lives = self.lives();
        forget(&mut lives);
        let found = lives.iter().find(|life| life.session == session && life.id == id && !life.is_dismissed());
        match found {
            Some(life) => Ok(Child::new(Arc::clone(life))),
            None => Err(Error::NotFound(format!("no program `{}` in this session", short(id)))),
        }
    }

    /// Ends what a turn started and nobody kept. To be called once nothing of the turn can start another.
    pub async fn end_turn(&self, turn: &str) {
        self.end_those(|life| life.turn == turn && !life.is_kept()).await;
    }

    /// Ends all that a session started, kept or not.
    pub async fn end_session(&self, session: &str) {
        self.end_those(|life| life.session == session).await;
    }

    /// Ends everything: the host's exit.
    pub async fn end_all(&self) {
        self.end_those(|_| true).await;
    }

    async fn end_those(&self, belongs: impl Fn(&Life) -> bool) {
        let those: Vec<Arc<Life>> = self.lives().iter().filter(|life| belongs(life)).cloned().collect();
        those.iter().for_each(|life| life.dismiss());
        if those.iter().any(|life| !life.is_over()) {
            end(those).await;
        }
        forget(&mut self.lives());
    }

    fn lives(&self) -> MutexGuard<'_, Vec<Arc<Life>>> {
        self.lives.lock()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.lives().iter().for_each(|life| life.group.kill());
    }
}

/// Refuses a program more where too many run.
fn admit(lives: &[Arc<Life>], session: &str) -> Result<()> {
    let running = || lives.iter().filter(|life| !life.is_over() && !life.group.is_gone());
    let of_session = running().filter(|life| life.session == session).count();
    if of_session >= MAX_RUNNING_OF_SESSION {
        return Err(Error::Busy(format!("{of_session} programs of this session run already; end one of them first")));
    }
    let all = running().count();
    if all >= MAX_RUNNING {
        return Err(Error::Busy(format!("{all} programs run already, which is all that may; try again later")));
    }
    Ok(())
}

/// Forgets what nobody waits for, and what is too much: the oldest of the session that has the most, so that one session
/// does not cost the others theirs.
fn forget(lives: &mut Vec<Arc<Life>>) {
    lives.retain(|life| !life.is_forgettable(FINISHED_FOR));
    loop {
        let mut finished: HashMap<&str, (usize, usize)> = HashMap::new();
        for (index, life) in lives.iter().enumerate().filter(|(_, life)| life.is_over()) {
            finished.entry(&life.session).or_insert((0, index)).0 += 1;
        }
        if finished.values().map(|(count, _)| count).sum::<usize>() <= MAX_FINISHED {
            return;
        }
        let Some(&(_, oldest)) = finished.values().max() else { return };
        lives.remove(oldest);
    }
}

/// An id that no program in `lives` has.
fn new_id(lives: &[Arc<Life>]) -> String {
    loop {
        // The keys of a new state are random, and so is what it makes of anything.
        let id = format!("bash-{:08x}", RandomState::new().hash_one(lives.len()) as u32);
        if lives.iter().all(|life| life.id != id) {
            return id;
        }
    }
}

/// What a guest sent as an id, short enough for a message.
fn short(id: &str) -> String {
    id.chars().take(40).collect()
}
