//! A thread that starts programs, and lasts as long as the process.
//!
//! A sandbox ends with the thread that started it (`PR_SET_PDEATHSIG`), so that nothing outlives a host that was killed.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// A command, the runtime that is to wait for it, and where its outcome goes.
type Order = (Command, Handle, Sender<io::Result<Child>>);

/// Starts the command on that thread. Must be called within a tokio runtime.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static THREAD: OnceLock<Option<Sender<Order>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts programs is gone");
    let thread = THREAD.get_or_init(begin).as_ref().ok_or_else(gone)?;
    let (answer, outcome) = channel();
    thread.send((command, Handle::current(), answer)).map_err(|_| gone())?;
    outcome.recv().map_err(|_| gone())?
}

fn begin() -> Option<Sender<Order>> {
    let (sender, orders) = channel::<Order>();
    let work = move || {
        for (mut command, runtime, answer) in orders {
            let _entered = runtime.enter();
            // Whoever asked waits for it.
            let _ = answer.send(command.spawn());
        }
    };
    thread::Builder::new().name("programs".to_owned()).spawn(work).ok().map(|_| sender)
}
