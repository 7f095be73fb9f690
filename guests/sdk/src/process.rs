//! Programs on the host's machine, and servers of the user's configuration.

use crate::grant::{Process, Program, SandboxedProcess};
use crate::{Result, backend};
use std::time::Duration;

pub use crate::wit::bub::process::process::Output;

/// A program. It ends with its turn, unless its [`id`](Child::id) was asked for; dropping the handle does not end it.
#[derive(Debug)]
pub struct Child(backend::process::Child);

/// A server that the user has configured. Dropping the handle does not end it.
#[derive(Debug)]
pub struct Server(backend::servers::Server);

impl Program {
    /// Opens a server by its name, and starts it if it is a program that does not run. One that is an address needs the grant
    /// for its host in place of this one.
    ///
    /// # Errors
    ///
    /// `not-found`, if the configuration has none of that name; `temporary`, if it has ended and is not started again yet;
    /// `config`, if it cannot be started.
    pub fn open(&self, name: &str) -> Result<Server> {
        backend::servers::open(name).map(Server)
    }
}

impl Server {
    /// The text that another call has left. `None`: this call prepares the server, and others wait until it has called
    /// [`set_prepared`](Self::set_prepared) or drops the handle.
    ///
    /// # Errors
    ///
    /// `temporary`, if another call prepares it for longer.
    pub fn prepare(&self, timeout: Duration) -> Result<Option<String>> {
        self.0.prepare(milliseconds(timeout))
    }

    /// Leaves a text for other calls, until the server ends.
    ///
    /// # Errors
    ///
    /// `invalid-input`, if it is too long.
    pub fn set_prepared(&self, text: &str) -> Result<()> {
        self.0.set_prepared(text)
    }

    /// Writes a line to its standard input.
    ///
    /// # Errors
    ///
    /// `temporary`, if it has ended or does not read.
    pub fn write_line(&self, line: &str, timeout: Duration) -> Result<()> {
        self.0.write_line(line, milliseconds(timeout))
    }

    /// The next line of its standard output since it was opened here; none if none came in time.
    ///
    /// # Errors
    ///
    /// `temporary`, if it has ended; `tool`, if it wrote more than the host takes.
    pub fn read_line(&self, timeout: Duration) -> Result<Option<String>> {
        self.0.read_line(milliseconds(timeout))
    }

    /// Ends it. The next [`open`](Program::open) begins anew.
    ///
    /// # Errors
    ///
    /// The host's.
    pub fn reset(&self) -> Result<()> {
        self.0.reset()
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

macro_rules! runs_programs {
    ($grant:ident) => {
        impl $grant {
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
    };
}

runs_programs!(Process);
runs_programs!(SandboxedProcess);

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
