//! Starts the program itself.

use super::relay;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Variables by which programs find a proxy.
const HTTP: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "npm_config_proxy", "npm_config_https_proxy"];
const SOCKS: [&str; 2] = ["ALL_PROXY", "all_proxy"];

/// Hosts that are reached without it: those of the sandbox's own loopback interface would be the machine's otherwise.
const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Runs a command that finds the proxy behind that socket in its variables.
///
/// # Errors
///
/// What could not be started.
pub(super) fn relayed(socket: &OsStr, command: &[OsString]) -> Result<ExitCode, String> {
    wait_for(&mut with_proxy(Path::new(socket), command)?)
}

/// The command, with the variables of a proxy that runs from here on, on threads of this process.
pub(super) fn with_proxy(socket: &Path, command: &[OsString]) -> Result<Command, String> {
    let port = relay::start(socket).map_err(|error| format!("the way to the proxy cannot be opened: {error}"))?;
    let mut command = plain(command)?;
    command.envs(HTTP.map(|name| (name, format!("http://127.0.0.1:{port}"))));
    command.envs(SOCKS.map(|name| (name, format!("socks5h://127.0.0.1:{port}"))));
    for name in DIRECT {
        command.env_remove(name);
    }
    Ok(command)
}

/// Starts the command, and ends as it does.
///
/// # Errors
///
/// It could not be started.
pub(super) fn wait_for(command: &mut Command) -> Result<ExitCode, String> {
    let status = command.status().map_err(|error| format!("the command cannot be started: {error}"))?;
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
