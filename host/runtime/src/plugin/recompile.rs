//! Compiling the program's own guests once more, in a process of its own. A process that ends after a turn compiles them
//! quickly, to code that is twice as large and runs more slowly; this one replaces that code, so that later starts are faster.

use super::cache::{Cache, Key};
use super::embedded::EMBEDDED;
use super::engine::{Engines, compiler};
use anyhow::Result;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The hidden command by which the program starts itself.
pub const COMMAND: &str = "compile-guests";

/// How far it stands back for all other processes.
const NICE: i32 = 10;

/// What the process is told.
#[derive(clap::Args)]
pub struct Arguments {
    /// Address space that a memory reserves, in bytes: compiled code fits it or does not
    #[arg(long)]
    reservation: u64,
    /// Directory of compiled code
    #[arg(long)]
    cache: PathBuf,
}

/// Starts the process, if there is something to do for it. It ends later than this one.
///
/// # Errors
///
/// The system cannot start it.
pub fn start(engines: &Engines, cache: &Cache, program: &Path) -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    let Some(dir) = cache.dir_with_quick() else { return Ok(()) };
    let mut command = Command::new(program);
    command
        .arg(COMMAND)
        .args(["--reservation", &engines.reservation().to_string()])
        .arg("--cache")
        .arg(std::path::absolute(dir)?)
        // The process needs no environment, and the environment contains secrets.
        .env_clear()
        .current_dir("/")
        // A reader of this process's output must not wait for it.
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C is meant for the next command in the same terminal.
        .process_group(0);
    // Not waited for: this process ends first.
    command.spawn().map(|_child| ())
}

/// The process: compiles what is there only as it was compiled quickly. One process does so at a time.
pub fn run(arguments: &Arguments) -> ExitCode {
    // Not to be nice costs others some time, and nothing else.
    let _ = rustix::process::nice(NICE);
    let cache = Cache::open(&arguments.cache);
    let Some(_lock) = cache.lock() else { return ExitCode::SUCCESS };
    match replace_quick(&cache, arguments.reservation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn replace_quick(cache: &Cache, reservation: u64) -> Result<()> {
    let engine = compiler(reservation)?;
    for guest in &EMBEDDED {
        let key = Key::new(&engine, guest.outline.digest);
        if !cache.has(&key.quick()) {
            continue;
        }
        if !cache.has(&key) {
            cache.keep(&key, &engine.precompile_component(&guest.bytes()?)?);
        }
        cache.remove_quick(&key);
    }
    Ok(())
}
