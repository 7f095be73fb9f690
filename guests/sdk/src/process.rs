//! Programs on the host's machine.

use crate::grant::Process;
use crate::{Result, backend};

pub use crate::wit::bub::process::process::Output;

/// A program. It ends with its turn, unless its [`id`](Child::id) was asked for; dropping the handle does not end it.
#[derive(Debug)]
pub struct Child(backend::process::Child);

impl Process {
    /// Runs a command in a shell, in a directory relative to the workspace.
    ///
    /// # Errors
    ///
    /// `denied`, without the grant; `temporary`, if too many programs run.
    pub fn spawn(&self, command: &str, directory: Option<&str>) -> Result<Child> {
        backend::process::spawn(command, directory).map(Child)
    }

    /// A program that an earlier call of the session left running, or whose output was not read to its end.
    ///
    /// # Errors
    ///
    /// `not-found`.
    pub fn find(&self, id: &str) -> Result<Child> {
        backend::process::find(id).map(Child)
    }
}

impl Child {
    /// The id to find it by. From then on the program outlives the turn.
    pub fn id(&self) -> String {
        self.0.id()
    }

    /// Waits for its end, at most ten minutes. `exit_code` is none if it still runs.
    ///
    /// # Errors
    ///
    /// The host's.
    pub fn wait(&self, timeout_ms: u64) -> Result<Output> {
        self.0.wait(timeout_ms)
    }

    /// Its output from an offset on.
    ///
    /// # Errors
    ///
    /// The host's.
    pub fn read(&self, offset: u64, max: u32) -> Result<Output> {
        self.0.read(offset, max)
    }

    /// Ends it, with all programs that it started.
    ///
    /// # Errors
    ///
    /// The host's.
    pub fn kill(&self) -> Result<()> {
        self.0.kill()
    }
}
