//! The hidden command of the program that confines itself, and then becomes or starts another program.
//!
//! `sandbox-exec relay SOCKET [HOST:PORT...] -- COMMAND...` runs inside of bubblewrap: it passes connections to the proxy.
//! `sandbox-exec landlock CONFINEMENT -- COMMAND...` makes the whole sandbox, and `sandbox-exec probe` says what of it this
//! system has.

mod isolate;
mod landlock;
mod run;
#[allow(unsafe_code, reason = "system calls that no library offers in a safe form; each has its reason")]
mod system;

use crate::backend::Backend;
use crate::confinement::{Confinement, Network};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The name of the hidden command.
pub const COMMAND: &str = "sandbox-exec";

/// Its first argument, by what it does.
pub(crate) const RELAY: &str = "relay";
const LANDLOCK: &str = "landlock";
const PROBE: &str = "probe";

/// The exit code if the sandbox could not be made, as shells have it for what cannot be executed.
const FAILED: u8 = 126;

/// Runs the hidden command. To be called first of all, while the process has one thread.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let outcome = match arguments.split_first() {
        Some((what, rest)) if what == PROBE && rest.is_empty() => isolate::report(),
        Some((what, rest)) if what == RELAY => split(rest).and_then(|(given, command)| run::relayed(given, command)),
        Some((what, rest)) if what == LANDLOCK => split(rest).and_then(|(given, command)| {
            let [given] = given else { return Err("one confinement is given".to_owned()) };
            let given = given.to_str().ok_or("its confinement is no text")?;
            let confinement: Confinement = serde_json::from_str(given).map_err(|error| error.to_string())?;
            isolate::run(&confinement, command)
        }),
        _ => Err("it is for bub-wasm itself".to_owned()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: the sandbox cannot be made: {error}");
        ExitCode::from(FAILED)
    })
}

/// Keeps files that the process inherited from the programs that it starts. To be called while it has one thread.
pub fn keep_descriptors() {
    // An older kernel lacks the call: then they are passed on, as before.
    let _ = system::close_on_exec();
}

/// The arguments before `--`, and the command behind it.
fn split(arguments: &[OsString]) -> Result<(&[OsString], &[OsString]), String> {
    let place = arguments.iter().position(|argument| argument == "--");
    match place.and_then(|place| arguments.split_at_checked(place)) {
        Some((given, [_, command @ ..])) if !command.is_empty() => Ok((given, command)),
        _ => Err("a command is missing".to_owned()),
    }
}

/// The words before a command that is to run under Landlock.
pub(crate) fn words(program: &Path, confinement: &Confinement) -> Result<Vec<OsString>, String> {
    crate::mounts::Plan::new(confinement)?;
    let text = serde_json::to_string(confinement).map_err(|error| format!("a path is no text: {error}"))?;
    Ok(vec![program.into(), COMMAND.into(), LANDLOCK.into(), text.into(), "--".into()])
}

/// What of the sandbox this system has.
///
/// # Errors
///
/// Why it has none.
pub(crate) fn probe(program: &Path) -> Result<Backend, String> {
    let mut command = Command::new(program);
    let output = command.args([COMMAND, PROBE]).env_clear().stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = said.split_whitespace().collect();
    if !output.status.success() || words.first() != Some(&LANDLOCK) {
        let error = String::from_utf8_lossy(&output.stderr);
        let line = error.lines().next().unwrap_or("this program has no such command");
        return Err(line.trim_start_matches("error: the sandbox cannot be made: ").to_owned());
    }
    let has = |word| words.contains(&word);
    Ok(Backend::Landlock { has_namespaces: has(isolate::NAMESPACES), has_mounts: has(isolate::MOUNTS) })
}

/// Whether there is to be a network of its own.
fn is_apart(network: &Network) -> bool {
    *network != Network::Free
}
