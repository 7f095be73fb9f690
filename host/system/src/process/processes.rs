//! All programs of the host.

use super::child::Child;
use super::error::{Error, Result};
use super::group::Group;
use super::program::{Program, ServerProgram};
use super::starter::{Guard, Hooks};
use super::state::ProcessState;
use super::supervise::supervise;
use super::terminate::terminate;
use bub_types::text::escaped;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child as Process, ChildStdin, ChildStdout};

/// Programs of a session that may run at once.
pub const MAX_RUNNING_OF_SESSION: usize = 8;

/// Programs of all sessions that may run at once.
pub const MAX_RUNNING: usize = 32;

/// Ended programs whose output is kept.
const MAX_FINISHED: usize = 64;

/// How long they are kept.
const FINISHED_FOR: Duration = Duration::from_secs(3600);

/// All programs that this process has started and that may still run.
static ALL: Mutex<Vec<Weak<ProcessState>>> = Mutex::new(Vec::new());

/// Kills the groups of all programs without waiting, because the process is about to exit.
pub fn kill_all() {
    let all = std::mem::take(&mut *ALL.lock());
    all.iter().filter_map(Weak::upgrade).for_each(|state| state.group.kill());
}

/// The programs of one host. Dropping it kills all that run.
#[derive(Default)]
pub struct Processes {
    /// In order of their start.
    states: Mutex<Vec<Arc<ProcessState>>>,
}

impl Processes {
    /// No programs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a program. Not asynchronous, so that cancellation cannot leave an unregistered program behind.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] when 8 programs of the session or 32 in all run; [`Error::NotFound`] when the directory is
    /// missing; [`Error::InvalidInput`] when the command is too long or has a zero byte; [`Error::Io`] when the system
    /// refuses.
    pub fn spawn(&self, program: &Program<'_>) -> Result<Child> {
        self.spawn_with(program, Hooks::default())
    }

    /// The same with what is done around its start if it has a wrapper.
    ///
    /// # Errors
    ///
    /// Those of [`Self::spawn`], and [`Error::Io`] when one of the hooks fails.
    pub fn spawn_with(&self, program: &Program<'_>, hooks: Hooks) -> Result<Child> {
        // Held throughout, so that two concurrent starts cannot both be the eighth.
        let mut states = self.states();
        forget(&mut states);
        admit(&states, program.session)?;
        let (shell, output, guard) = program.start(hooks)?;
        let is_confined = !program.wrapper.is_empty();
        register(&mut states, (program.session, program.turn), is_confined, (shell, output, guard)).map(Child::new)
    }

    /// Starts a server. It belongs to no session and no turn; what is kept of its output is its standard error.
    pub(super) fn spawn_server(
        &self,
        name: &str,
        program: &ServerProgram<'_>,
    ) -> Result<(Arc<ProcessState>, ChildStdin, ChildStdout)> {
        let mut states = self.states();
        forget(&mut states);
        // No session has such an id.
        let session = format!("\0server {name}");
        admit(&states, &session)?;
        let (mut process, errors) = program.start()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::Io { action: format!("start `{name}`"), source: io::ErrorKind::BrokenPipe.into() });
        };
        let state = register(&mut states, (&session, ""), false, (process, errors, Box::new(())))?;
        state.keep();
        Ok((state, input, output))
    }

    /// A program of that session, running or ended. An ended one is forgotten once its output was read to the end,
    /// after an hour, or when more than 64 are kept.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when the session has none of that id, whether or not another has.
    pub fn find(&self, session: &str, id: &str) -> Result<Child> {
        let mut states = self.states();
        forget(&mut states);
        let found = states.iter().find(|state| state.session == session && state.id == id && !state.is_dismissed());
        match found {
            Some(state) => Ok(Child::new(Arc::clone(state))),
            None => Err(Error::NotFound(format!("no program `{}` in this session", short(id)))),
        }
    }

    /// Terminates a turn's programs that were not kept. Call it when the turn can start no more.
    pub async fn end_turn(&self, turn: &str) {
        self.end_those(|state| state.turn == turn && !state.is_kept()).await;
    }

    /// Terminates all programs of a session.
    pub async fn end_session(&self, session: &str) {
        self.end_those(|state| state.session == session).await;
    }

    /// Terminates all programs, at the host's exit.
    pub async fn end_all(&self) {
        self.end_those(|_| true).await;
    }

    async fn end_those(&self, belongs: impl Fn(&ProcessState) -> bool) {
        let those: Vec<Arc<ProcessState>> = self.states().iter().filter(|state| belongs(state)).cloned().collect();
        those.iter().for_each(|state| state.dismiss());
        if those.iter().any(|state| !state.is_over()) {
            terminate(those).await;
        }
        forget(&mut self.states());
    }

    fn states(&self) -> MutexGuard<'_, Vec<Arc<ProcessState>>> {
        self.states.lock()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.states().iter().for_each(|state| state.group.kill());
    }
}

/// Adds a program that was started to the list, and supervises it.
fn register(
    states: &mut Vec<Arc<ProcessState>>,
    owner: (&str, &str),
    is_confined: bool,
    (process, output, guard): (Process, Receiver, Guard),
) -> Result<Arc<ProcessState>> {
    let Some(group) = process.id().and_then(Group::led_by) else {
        return Err(Error::Io { action: "start a program".to_owned(), source: io::Error::other("it has no id") });
    };
    let state = Arc::new(ProcessState::new(new_id(states), owner, group, is_confined));
    let mut all = ALL.lock();
    all.retain(|state| state.upgrade().is_some_and(|state| !state.is_over()));
    all.push(Arc::downgrade(&state));
    drop(all);
    tokio::spawn(supervise(Arc::clone(&state), process, output, guard));
    states.push(Arc::clone(&state));
    Ok(state)
}

/// Refuses another program if too many run.
fn admit(states: &[Arc<ProcessState>], session: &str) -> Result<()> {
    let running = || states.iter().filter(|state| !state.is_over() && !state.group.is_gone());
    let of_session = running().filter(|state| state.session == session).count();
    if of_session >= MAX_RUNNING_OF_SESSION {
        return Err(Error::Busy(format!("{of_session} programs of this session run already; end one of them first")));
    }
    let all = running().count();
    if all >= MAX_RUNNING {
        return Err(Error::Busy(format!("{all} programs run already, the maximum; try again later")));
    }
    Ok(())
}

/// Evicts ended programs that are no longer needed, and the oldest ones of the session with the most.
fn forget(states: &mut Vec<Arc<ProcessState>>) {
    states.retain(|state| !state.is_forgettable(FINISHED_FOR));
    loop {
        let mut finished: HashMap<&str, (usize, usize)> = HashMap::new();
        for (index, state) in states.iter().enumerate().filter(|(_, state)| state.is_over()) {
            finished.entry(&state.session).or_insert((0, index)).0 += 1;
        }
        if finished.values().map(|(count, _)| count).sum::<usize>() <= MAX_FINISHED {
            return;
        }
        let Some(&(_, oldest)) = finished.values().max() else { return };
        states.remove(oldest);
    }
}

/// An id that no program in `states` has.
fn new_id(states: &[Arc<ProcessState>]) -> String {
    loop {
        // Each `RandomState` has random keys, so its hashes are random.
        let id = format!("bash-{:08x}", RandomState::new().hash_one(states.len()) as u32);
        if states.iter().all(|state| state.id != id) {
            return id;
        }
    }
}

/// A guest-provided id, shortened for a message.
fn short(id: &str) -> String {
    escaped(id, 40)
}
