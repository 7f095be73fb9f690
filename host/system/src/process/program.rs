//! A program to start.

use super::environment::Environment;
use super::error::{Error, Result};
use super::starter::{self, Guard, Hooks};
use bub_types::text::escaped;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

/// Shells, in order of preference.
const SHELLS: [&str; 2] = ["bash", "sh"];

/// Where a shell is looked for that starts inside of a wrapper.
const FOLDERS: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/// A program to start, with its session and turn.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The session that may find it, and with which it ends.
    pub session: &'a str,
    /// The turn with which it ends unless it is kept. Names of turns are unique within the host.
    pub turn: &'a str,
    /// The command for `bash -c`, or `sh -c` if there is no bash.
    pub command: &'a str,
    /// Its working directory.
    pub directory: &'a Path,
    /// Its whole environment.
    pub environment: &'a Environment,
    /// The words that come before the shell, which confine it: a program and its arguments. Empty: nothing does.
    pub wrapper: &'a [OsString],
}

impl Program<'_> {
    /// Starts it in its own process group, with empty standard input and one pipe for its output.
    pub(super) fn start(&self, hooks: Hooks) -> Result<(Child, Receiver, Guard)> {
        if self.command.contains('\0') {
            return Err(Error::InvalidInput("the command has a zero byte in it".to_owned()));
        }
        // Checked first: the system's `not found` does not tell a missing directory from a missing shell.
        if !self.directory.is_dir() {
            return Err(Error::NotFound(format!("`{}` is no directory", self.directory.display())));
        }
        if let Some((wrapper, arguments)) = self.wrapper.split_first() {
            return self.start_wrapped(wrapper, arguments, hooks);
        }
        let mut missing = io::Error::from(io::ErrorKind::NotFound);
        for shell in SHELLS {
            match self.start_with(shell) {
                Ok((child, output)) => return Ok((child, output, Box::new(()))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing = error,
                Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                    return Err(Error::InvalidInput(format!("a command of {} bytes is too long", self.command.len())));
                }
                Err(source) => return Err(Error::Io { action: format!("start `{shell}`"), source }),
            }
        }
        Err(Error::Io { action: "start `bash` or `sh`".to_owned(), source: missing })
    }

    fn start_with(&self, shell: &str) -> io::Result<(Child, Receiver)> {
        let mut command = Command::new(shell);
        command.args(["-c", self.command]);
        let output = self.prepare(&mut command)?;
        Ok((command.spawn()?, output))
    }

    /// Starts the wrapper with the shell that this machine has.
    fn start_wrapped(
        &self,
        wrapper: &OsString,
        arguments: &[OsString],
        hooks: Hooks,
    ) -> Result<(Child, Receiver, Guard)> {
        let is_there = |shell: &&str| FOLDERS.iter().any(|folder| Path::new(folder).join(shell).exists());
        let shell = SHELLS.into_iter().find(is_there).unwrap_or("sh");
        let mut command = Command::new(wrapper);
        command.args(arguments).args([shell, "-c", self.command]);
        let outcome = self.prepare(&mut command).and_then(|output| {
            // A wrapper ends with the thread that started it, and threads of the runtime come and go.
            let (child, guard) = starter::spawn(command, hooks)?;
            Ok((child, output, guard))
        });
        outcome.map_err(|source| match source.kind() {
            io::ErrorKind::ArgumentListTooLong => {
                Error::InvalidInput(format!("a command of {} bytes is too long", self.command.len()))
            }
            _ => Error::Io { action: "start a program in the sandbox".to_owned(), source },
        })
    }

    /// The rest of the command, and the end of the pipe to which it writes.
    fn prepare(&self, command: &mut Command) -> io::Result<Receiver> {
        // One pipe, not two, so that standard output and error keep their order.
        let (output, input) = io::pipe()?;
        let output = Receiver::from_owned_fd(output.into())?;
        command
            .current_dir(self.directory)
            .env_clear()
            .envs(self.environment.iter())
            .stdin(Stdio::null())
            .stdout(input.try_clone()?)
            .stderr(input)
            .process_group(0)
            .kill_on_drop(true);
        Ok(output)
    }
}

/// A program that is started without a shell.
#[derive(Clone, Copy, Debug)]
pub struct ServerProgram<'a> {
    /// A path, or a name that is looked up in `PATH`.
    pub command: &'a str,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Its working directory.
    pub directory: &'a Path,
    /// Its whole environment.
    pub environment: &'a Environment,
}

impl ServerProgram<'_> {
    /// Starts it in its own process group, with pipes for its input and output, and one for its standard error.
    pub(super) fn start(&self) -> Result<(Child, Receiver)> {
        let Self { command, arguments, directory, environment } = self;
        if command.contains('\0') || arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(Error::InvalidInput("the command has a zero byte in it".to_owned()));
        }
        if !directory.is_dir() {
            return Err(Error::NotFound(format!("`{}` is no directory", directory.display())));
        }
        let start = || {
            let (errors, writer) = io::pipe()?;
            let errors = Receiver::from_owned_fd(errors.into())?;
            let child = Command::new(command)
                .args(*arguments)
                .current_dir(directory)
                .env_clear()
                .envs(environment.iter())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(writer)
                .process_group(0)
                .kill_on_drop(true)
                .spawn()?;
            Ok((child, errors))
        };
        let shown = escaped(command, 200);
        start().map_err(|source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::NotFound(format!("there is no program `{shown}`")),
            _ => Error::Io { action: format!("start `{shown}`"), source },
        })
    }
}
