//! Starts the program itself.

use crate::relay::Relay;
use crate::variables::variables;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs a command that finds the proxy in its variables. `given` are the proxy's socket, and ports of the machine.
///
/// # Errors
///
/// What could not be started.
pub(super) fn relayed(given: &[OsString], command: &[OsString]) -> Result<ExitCode, String> {
    let (socket, loopback) = given.split_first().ok_or("a socket is missing")?;
    let loopback: Vec<String> = loopback.iter().map(|port| port.to_string_lossy().into_owned()).collect();
    wait_for(&mut with_proxy(Path::new(socket), &loopback, command)?)
}

/// The command, with the variables of a proxy that runs from here on, on threads of this process.
pub(super) fn with_proxy(socket: &Path, loopback: &[String], command: &[OsString]) -> Result<Command, String> {
    let relay = Relay::new(socket).forwarding(loopback);
    let port = relay.start().map_err(|error| format!("the way to the proxy cannot be opened: {error}"))?;
    let mut command = plain(command)?;
    command.envs(variables(port));
    Ok(command)
}

/// Starts the command, and ends as it does.
///
/// # Errors
///
/// It could not be started.
pub(super) fn wait_for(command: &mut Command) -> Result<ExitCode, String> {
    let failed = |error| format!("the command cannot be started: {error}");
    let mut child = command.spawn().map_err(failed)?;
    // All processes of a sandbox are asked to end, and the command is to have time for it.
    super::system::ignore_termination();
    let status = child.wait().map_err(failed)?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(255);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(255)))
}

/// Becomes the command.
///
/// # Errors
///
/// It could not be started.
pub(super) fn become_this(command: &mut Command) -> Result<ExitCode, String> {
    Err(format!("the command cannot be started: {}", command.exec()))
}

/// The command as it is.
pub(super) fn plain(command: &[OsString]) -> Result<Command, String> {
    let (program, arguments) = command.split_first().ok_or("a command is missing")?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}
