//! Compiling, in a process of its own.
//!
//! A file of 71 KB can take the compiler minutes, and one of 1.4 MB asks for gigabytes and aborts the process that compiles it. So
//! this program starts itself once more, bounded in memory and time, hands it the bytes and takes what comes back. The
//! guests that the program carries are trusted, and compiled in this process.

use super::cache::{Cache, Key, Note};
use super::compiling::Running;
use super::discovery::MAX_FILE;
use super::engine::{Engines, precompile, precompile_quickly};
use super::image::MAX_IMAGE;
use super::loaded::Plugin;
use bub_config::Limits;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use wasmtime::component::Component;

/// The hidden command by which the program starts itself.
pub const COMMAND: &str = "compile-plugin";

/// One component at a time in this process: turns run beside it, and want the other cores.
static ONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The bytes of the child's stderr that are kept.
const MAX_SAID: u64 = 4096;

/// How long the child may take by the wall, beside four times what it may take of a processor. It runs at a low
/// priority, so on a busy machine it waits; that is not the file's fault, and is not remembered.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The most threads of the child.
const MAX_THREADS: usize = 4;

/// Memory for each thread of the child, in MiB: the allocator gives each segments of its own, of 32 MiB.
const MIB_PER_THREAD: u64 = 256;

/// Address space that the child's allocator reserves at a time, in KiB: the least that it accepts. Its default of 1 GiB would
/// be reserved before the bound is set, and stay outside it.
const ARENA_KIB: u32 = 32 << 10;

/// The child's exit code when the bytes are no component that this engine takes.
const NOT_TAKEN: u8 = 3;

/// Why there is no compiled code.
enum CompileError {
    /// The bytes are not what they should be, in the compiler's words.
    NotTaken(String),
    /// They broke the bounds, and will break them again.
    Broke(String),
    /// This machine could not, this time.
    NotNow(String),
}

/// Why there is no component.
pub(super) struct CompileFailure {
    /// One line: what is wrong with the bytes, or which bound they break.
    pub(super) reason: String,
    /// Whether it was this machine, this time.
    pub(super) is_passing: bool,
}

impl CompileFailure {
    fn lasting(error: &wasmtime::Error) -> Self {
        Self { reason: bub_types::text::one_line(&format!("{error:#}")), is_passing: false }
    }

    fn passing(reason: impl std::fmt::Display) -> Self {
        Self { reason: reason.to_string(), is_passing: true }
    }
}

/// The component of a plugin's file: from the cache, or compiled within the plugin's limits and put there.
///
/// # Errors
///
/// The bytes are invalid, or break a bound. The error says which.
pub(super) async fn component(
    engines: &Engines,
    cache: &Cache,
    program: &PathBuf,
    plugin: &Plugin,
) -> Result<Component, CompileFailure> {
    let (engine, key) = (&engines.pooled, Key::new(&engines.pooled, &plugin.digest));
    if let Some(component) = cache.component(engine, &key) {
        return Ok(component);
    }
    let _one = ONE.lock().await;
    // An earlier holder of the lock may have compiled the same bytes.
    if let Some(component) = cache.component(engine, &key) {
        return Ok(component);
    }
    let code = compile_and_keep(engines, (cache, &key), program, plugin).await?;
    // SAFETY: these bytes came through a pipe from the process that was started a line above, which is this
    // program; wasmtime checks that they were made for this engine.
    #[allow(unsafe_code, reason = "deserialize is how compiled code is loaded; it was just made by ourselves")]
    let component = unsafe { Component::deserialize(engine, code) };
    component.map_err(|error| CompileFailure::lasting(&error))
}

/// Puts a plugin's compiled code into the cache, and loads nothing. Returns whether it is there.
///
/// # Errors
///
/// Those of [`component`].
pub(super) async fn prepare(
    engines: &Engines,
    cache: &Cache,
    program: &PathBuf,
    plugin: &Plugin,
) -> Result<bool, CompileFailure> {
    let key = Key::new(&engines.pooled, &plugin.digest);
    if cache.trouble().is_some() || cache.has(&key) {
        return Ok(cache.has(&key));
    }
    let _one = ONE.lock().await;
    compile_and_keep(engines, (cache, &key), program, plugin).await?;
    Ok(cache.has(&key))
}

/// Whether the compiled code of those bytes is in the cache.
pub(super) fn is_kept(engines: &Engines, cache: &Cache, digest: &str) -> bool {
    cache.has(&Key::new(&engines.pooled, digest))
}

/// Compiles in a child, and keeps the code, or why there is none.
async fn compile_and_keep(
    engines: &Engines,
    (cache, key): (&Cache, &Key),
    program: &PathBuf,
    plugin: &Plugin,
) -> Result<Vec<u8>, CompileFailure> {
    let limits = &plugin.limits;
    let known = cache.refused(key);
    if let Some(note) =
        known.filter(|note| note.seconds >= limits.compile_seconds && note.memory_mib >= limits.compile_mib)
    {
        return Err(CompileFailure { reason: note.reason, is_passing: false });
    }
    let bytes = plugin.bytes.get(plugin.file.as_deref(), &plugin.digest).map_err(CompileFailure::passing)?;
    let running = Running::begin(&plugin.name);
    let compiled = in_child(engines.reservation(), program, &bytes, limits).await;
    drop(running);
    match compiled {
        Ok(code) => {
            cache.keep(key, &code);
            cache.remove_quick(key);
            Ok(code)
        }
        Err(CompileError::Broke(reason)) => {
            let (seconds, memory_mib) = (limits.compile_seconds, limits.compile_mib);
            cache.remember(key, &Note { reason: reason.clone(), seconds, memory_mib });
            Err(CompileFailure { reason, is_passing: false })
        }
        Err(CompileError::NotTaken(reason)) => Err(CompileFailure { reason, is_passing: false }),
        Err(CompileError::NotNow(reason)) => Err(CompileFailure { reason, is_passing: true }),
    }
}

/// The component of an embedded guest, compiled in this process: `quickly`, where the process wants one answer and ends.
///
/// # Errors
///
/// The program file is damaged, or not for this machine.
pub(super) async fn embedded(
    engines: &Engines,
    cache: &Cache,
    plugin: &Plugin,
    quickly: bool,
) -> Result<Component, CompileFailure> {
    let (engine, key) = (engines.pooled.clone(), Key::new(&engines.pooled, &plugin.digest));
    let kept =
        cache.component(&engine, &key).or_else(|| quickly.then(|| cache.quick_component(&engine, &key)).flatten());
    if let Some(component) = kept {
        return Ok(component);
    }
    let damaged = |error: anyhow::Error| CompileFailure { reason: format!("{error:#}"), is_passing: false };
    let bytes = plugin.bytes.get(None, &plugin.digest).map_err(damaged)?;
    let _running = Running::begin(&plugin.name);
    let reservation = engines.reservation();
    // It takes as long as a few hundred turns; tasks that are ready must not wait for it.
    let compiled = tokio::task::spawn_blocking(move || {
        let code = match quickly {
            true => precompile_quickly(reservation, &bytes)?,
            false => engine.precompile_component(&bytes)?,
        };
        // SAFETY: this program compiled these bytes a line above; wasmtime checks that they were made for this engine.
        #[allow(unsafe_code, reason = "deserialize is how compiled code is loaded; it was just made by ourselves")]
        let component = unsafe { Component::deserialize(&engine, &code)? };
        wasmtime::Result::Ok((component, code))
    });
    let compiled = compiled.await.map_err(CompileFailure::passing)?;
    let (component, code) = compiled.map_err(|error| CompileFailure::lasting(&error))?;
    match quickly {
        true => cache.keep_quick(&key, &code),
        false => {
            cache.keep(&key, &code);
            cache.remove_quick(&key);
        }
    }
    Ok(component)
}

async fn in_child(reservation: u64, program: &PathBuf, bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, CompileError> {
    let wall = TIMEOUT + Duration::from_secs(limits.compile_seconds) * 4;
    let not_now = |error: io::Error| CompileError::NotNow(format!("the compiler does not start: {error}"));
    let child = start(reservation, program, limits).map_err(not_now)?;
    let (status, code, said) = match tokio::time::timeout(wall, talk(child, bytes)).await {
        Ok(talked) => talked.map_err(not_now)?,
        // It goes with the future that held it.
        Err(_) => {
            let text = format!("it was not compiled within {} s; the machine may be busy", wall.as_secs());
            return Err(CompileError::NotNow(text));
        }
    };
    if status.success() {
        return match code.len() as u64 > MAX_IMAGE {
            false => Ok(code),
            true => Err(CompileError::Broke(format!("it has more than {} MiB when it is compiled", MAX_IMAGE >> 20))),
        };
    }
    Err(trouble(status, &said, limits))
}

fn start(reservation: u64, program: &PathBuf, limits: &Limits) -> io::Result<Child> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    let threads = (limits.compile_mib / MIB_PER_THREAD).clamp(1, cores as u64);
    Command::new(program)
        .arg(COMMAND)
        .args(["--reservation", &reservation.to_string()])
        .args(["--seconds", &limits.compile_seconds.to_string()])
        .args(["--memory-mib", &limits.compile_mib.to_string()])
        // The compiler needs no environment, and the environment contains secrets.
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        .env("MIMALLOC_ARENA_RESERVE", ARENA_KIB.to_string())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Hands the bytes over and takes what comes back: how it ended, compiled code, and what it said.
async fn talk(mut child: Child, bytes: &[u8]) -> io::Result<(ExitStatus, Vec<u8>, String)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let give = async {
        if let Some(mut stdin) = stdin {
            // One that ends early does not take all.
            let _ = stdin.write_all(bytes).await;
        }
    };
    let take = async {
        let mut code = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(MAX_IMAGE + 1).read_to_end(&mut code).await?;
        }
        io::Result::Ok(code)
    };
    let listen = async {
        let mut said = Vec::new();
        if let Some(mut stderr) = stderr {
            (&mut stderr).take(MAX_SAID).read_to_end(&mut said).await?;
            // Output beyond the limit is read all the same: a full pipe would block the child.
            tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await?;
        }
        io::Result::Ok(said)
    };
    let ((), code, said) = tokio::join!(give, take, listen);
    let status = child.wait().await?;
    Ok((status, code?, bub_types::text::one_line(&String::from_utf8_lossy(&said?))))
}

/// The meaning of a child's exit for the bytes that it was given.
fn trouble(status: ExitStatus, said: &str, limits: &Limits) -> CompileError {
    const SIGKILL: i32 = 9;
    const SIGINT: i32 = 2;
    const SIGTERM: i32 = 15;
    const SIGXCPU: i32 = 24;
    let out_of_memory = ["memory allocation of", "annot allocate memory"].iter().any(|text| said.contains(text));
    match (status.code(), status.signal()) {
        (_, _) if out_of_memory => CompileError::Broke(format!(
            "it takes more than {} MiB to compile; `compile_mib` in its `limits` raises that",
            limits.compile_mib
        )),
        (_, Some(SIGXCPU)) => CompileError::Broke(format!(
            "it takes longer than {} s to compile; `compile_seconds` in its `limits` raises that",
            limits.compile_seconds
        )),
        (Some(code), _) if code == i32::from(NOT_TAKEN) => CompileError::NotTaken(said.to_owned()),
        // It was ended from outside, not by its input.
        (_, Some(SIGKILL | SIGINT | SIGTERM)) => CompileError::NotNow("the compiler was ended from outside".to_owned()),
        (_, Some(_)) => CompileError::Broke(format!("the compiler broke on it: {said}")),
        _ if said.contains("panicked at") => CompileError::Broke(format!("the compiler broke on it: {said}")),
        _ => CompileError::NotNow(format!("the compiler did not begin: {said}")),
    }
}

/// What the child is told.
#[derive(clap::Args)]
pub struct Arguments {
    /// Address space that a memory reserves, in bytes: compiled code fits it or does not
    #[arg(long)]
    reservation: u64,
    /// Seconds of a processor
    #[arg(long)]
    seconds: u64,
    /// Memory beyond what the program itself maps, in MiB
    #[arg(long)]
    memory_mib: u64,
}

/// Compiles and answers with the exit code, if this process was started as the compiler of another one.
///
/// A program that embeds the runtime calls it first of all: plugins are compiled by starting the program once more, unless
/// [`Config::program`](bub_config::Config::program) names another one.
pub fn run_if_asked() -> Option<ExitCode> {
    use clap::{Args, FromArgMatches};
    let mut words = std::env::args_os().skip(1);
    if words.next()? != COMMAND {
        return None;
    }
    let command = Arguments::augment_args(clap::Command::new(COMMAND));
    let matches = command.get_matches_from(std::env::args_os().skip(1));
    match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => Some(run(&arguments)),
        Err(error) => error.exit(),
    }
}

/// The child: a component on stdin becomes compiled code on stdout.
pub fn run(arguments: &Arguments) -> ExitCode {
    if let Err(error) = bound(arguments) {
        let _ = writeln!(io::stderr(), "the compiler cannot be bounded: {error}");
        return ExitCode::FAILURE;
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut bytes);
    let made = read
        .map_err(|error| error.to_string())
        .and_then(|_| precompile(arguments.reservation, &bytes).map_err(|error| format!("{error:#}")));
    match made {
        Ok(code) => match io::stdout().lock().write_all(&code) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(reason) => {
            let _ = writeln!(io::stderr(), "{reason}");
            ExitCode::from(NOT_TAKEN)
        }
    }
}

/// Address space of this process, in bytes: its program file, its libraries and its first stack. They differ by build and are
/// not what compiling takes. 0 on a system without `/proc`.
fn mapped() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
    pages.saturating_mul(rustix::param::page_size() as u64)
}

/// Bounds this process before it has seen a byte.
fn bound(arguments: &Arguments) -> io::Result<()> {
    let limit = |resource, current, maximum| {
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) }).map_err(io::Error::from)
    };
    let most = mapped().saturating_add(arguments.memory_mib << 20);
    limit(Resource::As, most, most)?;
    // The first is a signal that says what it is, the second one that cannot be ignored.
    limit(Resource::Cpu, arguments.seconds, arguments.seconds + 2)?;
    limit(Resource::Core, 0, 0)?;
    // Not to be nice costs others some time, and nothing else.
    let _ = rustix::process::nice(5);
    // The parent may have been killed, and then the result has no reader.
    let parent = rustix::process::getppid();
    std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        while rustix::process::getppid() == parent {
            std::thread::sleep(Duration::from_secs(1));
        }
        std::process::exit(1);
    })?;
    Ok(())
}
