//! A thread that starts programs, and lasts as long as the process.
//!
//! A sandbox ends with the thread that started it (`PR_SET_PDEATHSIG`), so that nothing outlives a host that was killed.

use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// Something that is dropped when a program is over.
pub type Guard = Box<dyn Send + Sync>;

/// What is done around the start of a program, on the thread that starts it.
pub struct Hooks {
    /// Before it.
    pub before: Box<dyn FnOnce() -> io::Result<()> + Send>,
    /// After it; the program may wait for this. Where it fails, the program is killed.
    pub after: Box<dyn FnOnce() -> io::Result<Guard> + Send>,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { before: Box::new(|| Ok(())), after: Box::new(|| Ok(Box::new(()))) }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// A program, and what is dropped when it is over.
type Started = (Child, Guard);

/// A command, the runtime that is to wait for it, and where its outcome goes.
struct Order {
    command: Command,
    hooks: Hooks,
    runtime: Handle,
    answer: Sender<io::Result<Started>>,
}

/// The thread, if it was needed.
static THREAD: Mutex<Option<(Sender<Order>, JoinHandle<()>)>> = Mutex::new(None);

/// Starts the command on that thread. Must be called within a tokio runtime.
pub(super) fn spawn(command: Command, hooks: Hooks) -> io::Result<Started> {
    let gone = || io::Error::other("the thread that starts programs is gone");
    let (answer, outcome) = channel();
    let order = Order { command, hooks, runtime: Handle::current(), answer };
    let mut thread = THREAD.lock();
    if thread.is_none() {
        *thread = Some(begin()?);
    }
    let sender = thread.as_ref().map(|(sender, _)| sender.clone()).ok_or_else(gone)?;
    drop(thread);
    sender.send(order).map_err(|_| gone())?;
    drop(sender);
    outcome.recv().map_err(|_| gone())?
}

/// Ends the thread, and with it all programs that it has started. Another one begins with the next program.
pub fn end_starter() {
    if let Some((sender, thread)) = THREAD.lock().take() {
        drop(sender);
        // It has panicked otherwise, and is gone as well.
        let _ = thread.join();
    }
}

fn begin() -> io::Result<(Sender<Order>, JoinHandle<()>)> {
    let (sender, orders) = channel::<Order>();
    let work = move || {
        for Order { command, hooks, runtime, answer } in orders {
            let _entered = runtime.enter();
            // The caller of `spawn` waits for it.
            let _ = answer.send(start(command, hooks));
        }
    };
    Ok((sender, thread::Builder::new().name("programs".to_owned()).spawn(work)?))
}

fn start(mut command: Command, hooks: Hooks) -> io::Result<Started> {
    (hooks.before)()?;
    let mut child = command.spawn()?;
    match (hooks.after)() {
        Ok(guard) => Ok((child, guard)),
        Err(error) => {
            // It is reaped when it is dropped.
            let _ = child.start_kill();
            Err(error)
        }
    }
}
