//! A program to start.

use super::environment::Environment;
use super::error::{Error, Result};
use bub_types::text::escaped;
use std::io;
use std::path::Path;
use std::process::Stdio;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

/// Shells, in order of preference.
const SHELLS: [&str; 2] = ["bash", "sh"];

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
}

impl Program<'_> {
    /// Starts it in its own process group, with empty standard input and one pipe for its output.
    pub(super) fn start(&self) -> Result<(Child, Receiver)> {
        if self.command.contains('\0') {
            return Err(Error::InvalidInput("the command has a zero byte in it".to_owned()));
        }
        // Checked first: the system's `not found` does not tell a missing directory from a missing shell.
        if !self.directory.is_dir() {
            return Err(Error::NotFound(format!("`{}` is no directory", self.directory.display())));
        }
        let mut missing = io::Error::from(io::ErrorKind::NotFound);
        for shell in SHELLS {
            match self.start_with(shell) {
                Ok(started) => return Ok(started),
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
        // One pipe, not two, so that standard output and error keep their order.
        let (output, input) = io::pipe()?;
        let output = Receiver::from_owned_fd(output.into())?;
        let child = Command::new(shell)
            .args(["-c", self.command])
            .current_dir(self.directory)
            .env_clear()
            .envs(self.environment.iter())
            .stdin(Stdio::null())
            .stdout(input.try_clone()?)
            .stderr(input)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok((child, output))
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
