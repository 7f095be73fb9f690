//! The sandbox without bubblewrap: namespaces as far as the system has them, Landlock, and the filter of system calls.
//!
//! Three processes: the first waits; the second is the first one of the new process namespace, arranges the file system
//! and waits for all that runs in it; the third restricts itself and becomes the command.

use super::system::{self, Fork, Resource};
use super::{is_apart, landlock, run};
use crate::confinement::{Confinement, Limits, Network};
use crate::filter::filter;
use crate::mounts::{Access, Mount, Plan};
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

/// Words of the report.
pub(super) const NAMESPACES: &str = "namespaces";
pub(super) const MOUNTS: &str = "mounts";

/// Directories of sockets.
const SOCKETS: [&str; 2] = ["/run", "/var/run"];

/// What this process got.
#[derive(Clone, Copy)]
struct Entered {
    has_namespaces: bool,
    has_mounts: bool,
}

/// Prints what of the sandbox this system has.
pub(super) fn report() -> Result<ExitCode, String> {
    landlock::check()?;
    let entered = enter(true);
    let words = [(entered.has_namespaces, NAMESPACES), (entered.has_mounts, MOUNTS)];
    let words: Vec<&str> = words.into_iter().filter(|(has, _)| *has).map(|(_, word)| word).collect();
    println!("landlock {}", words.join(" "));
    Ok(ExitCode::SUCCESS)
}

/// Runs the command in the sandbox.
pub(super) fn run(confinement: &Confinement, command: &[OsString]) -> Result<ExitCode, String> {
    let plan = Plan::new(confinement)?;
    let entered = enter(is_apart(&confinement.network));
    failed("prepare", system::die_with_parent())?;
    match failed("fork", system::fork())? {
        Fork::Parent(child) => Ok(ExitCode::from(wait_for(child)?)),
        Fork::Child => first(confinement, &plan, entered, command),
    }
}

/// The first process of the namespace.
fn first(confinement: &Confinement, plan: &Plan, entered: Entered, command: &[OsString]) -> Result<ExitCode, String> {
    failed("prepare", system::die_with_parent())?;
    failed("leave the terminal", system::leave_terminal())?;
    if entered.has_mounts {
        arrange(plan).map_err(|error| format!("the file system cannot be arranged: {error}"))?;
    } else if let Some(shown) = plan.mounts.iter().find(|mount| mount.access == Access::Hidden && is_readable(mount)) {
        return Err(format!("`{}` cannot be hidden on this system without bubblewrap", shown.target.display()));
    }
    failed("give up capabilities", system::drop_capabilities())?;
    failed("give up privileges", system::set_no_new_privileges())?;
    match failed("fork", system::fork())? {
        Fork::Parent(child) => Ok(ExitCode::from(wait_for(child)?)),
        Fork::Child => last(confinement, plan, entered, command),
    }
}

/// The process that becomes the command.
fn last(confinement: &Confinement, plan: &Plan, entered: Entered, command: &[OsString]) -> Result<ExitCode, String> {
    // Without a network of its own, no program of it can be told from any other: it gets none.
    let has_network = entered.has_namespaces || confinement.network == Network::Free;
    limit(&confinement.limits)?;
    landlock::restrict(confinement, plan, (entered.has_mounts, has_network))?;
    failed("filter system calls", system::install(&filter(has_network)))?;
    let mut started = match &confinement.network {
        Network::Proxy { socket: Some(socket), loopback } if has_network => run::with_proxy(socket, loopback, command)?,
        Network::Proxy { .. } | Network::Off | Network::Free => run::plain(command)?,
    };
    if !entered.has_mounts {
        started.env("TMPDIR", confinement.private.join("tmp"));
    }
    if matches!(confinement.network, Network::Proxy { .. }) && has_network {
        // The way to the proxy is in this process.
        return run::wait_for(&mut started);
    }
    run::become_this(&mut started)
}

/// Enters namespaces of its own, with the rights to arrange them.
fn enter(is_apart: bool) -> Entered {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = system::CLONE_NEWNS | system::CLONE_NEWPID | system::CLONE_NEWIPC | system::CLONE_NEWUTS;
    if is_apart {
        flags |= system::CLONE_NEWNET;
    }
    if system::unshare(flags | system::CLONE_NEWUSER).is_err() {
        return Entered { has_namespaces: false, has_mounts: false };
    }
    let mapped = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")))
        .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")));
    // Some systems give namespaces without the rights in them.
    let has_mounts = mapped.is_ok()
        && system::mount(Path::new("none"), Path::new("/"), c"", system::MS_REC | system::MS_PRIVATE, c"").is_ok();
    let has_network = !is_apart || system::raise_loopback().is_ok();
    Entered { has_namespaces: has_network, has_mounts }
}

/// Mounts what the plan says over what is there. Landlock denies the rest.
fn arrange(plan: &Plan) -> io::Result<()> {
    let directory = std::env::current_dir()?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let open = |mount: &Mount| rustix::fs::open(&mount.source, flags, Mode::empty());
    // Opened first: a later mount may cover the source of another.
    let mut sources: Vec<(&Mount, OwnedFd)> = Vec::new();
    for mount in &plan.mounts {
        sources.push((mount, open(mount)?));
    }
    // Sockets of services, and of the desktop. What is needed of it is mounted again.
    for directory in SOCKETS.map(Path::new).iter().filter(|path| path.is_dir() && !path.is_symlink()) {
        system::mount(
            Path::new("none"),
            directory,
            c"tmpfs",
            system::MS_NOSUID | system::MS_NODEV,
            c"size=64k,mode=755",
        )?;
    }
    let mut closed = Vec::new();
    // A place that is missing is made where nothing but the program sees it, and nowhere else.
    let is_own = |mount: &&Mount| mount.source != mount.target || mount.access == Access::Hidden;
    let own = || plan.mounts.iter().filter(is_own).map(|mount| mount.target.as_path());
    let may_make =
        |target: &Path| own().chain(SOCKETS.map(Path::new)).any(|own| own != target && target.starts_with(own));
    for (mount, source) in sources.iter().filter(|(mount, _)| mount.target.exists() || may_make(&mount.target)) {
        let is_directory = fs::metadata(of_descriptor(source))?.is_dir();
        make_place(&mount.target, is_directory)?;
        match mount.access {
            Access::Hidden if is_directory => {
                let flags = system::MS_NOSUID | system::MS_NODEV;
                system::mount(Path::new("none"), &mount.target, c"tmpfs", flags, c"size=64k,mode=755")?;
                closed.push(&mount.target);
            }
            Access::Hidden => bind(Path::new("/dev/null"), &mount.target)?,
            Access::System | Access::Read | Access::Write | Access::Keep => {
                bind(&of_descriptor(source), &mount.target)?;
                if mount.access != Access::Write {
                    close(&mount.target)?;
                }
            }
        }
    }
    // Only now: mounts within them needed their places.
    closed.into_iter().try_for_each(|target| close(target))?;
    let own = system::MS_NOSUID | system::MS_NODEV;
    system::mount(Path::new("none"), Path::new("/dev/shm"), c"tmpfs", own, c"mode=1777")?;
    // Some containers deny it. Landlock keeps this process from looking into others there.
    let _ = system::mount(Path::new("proc"), Path::new("/proc"), c"proc", own, c"");
    std::env::set_current_dir(directory)
}

fn of_descriptor(descriptor: &OwnedFd) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into()
}

fn bind(source: &Path, target: &Path) -> io::Result<()> {
    system::mount(source, target, c"", system::MS_BIND | system::MS_REC, c"")
}

/// Makes a mount read-only, with the other flags that it has: a new namespace may not take those off.
fn close(target: &Path) -> io::Result<()> {
    let kept = rustix::fs::statvfs(target)?.f_flag.bits() & (2 | 4 | 8 | 0x400 | 0x800);
    system::mount(Path::new("none"), target, c"", system::MS_BIND | system::MS_REMOUNT | system::MS_RDONLY | kept, c"")
}

/// Makes the place for a mount in the private home, if there is none.
fn make_place(target: &Path, is_directory: bool) -> io::Result<()> {
    if target.exists() {
        return Ok(());
    }
    if is_directory {
        return fs::create_dir_all(target);
    }
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(target, "")
}

/// Whether a hidden file could be read by its rights.
fn is_readable(mount: &Mount) -> bool {
    fs::File::open(&mount.target).is_ok() && (!mount.target.is_dir() || fs::read_dir(&mount.target).is_ok())
}

fn limit(limits: &Limits) -> Result<(), String> {
    let all = [
        (Resource::Processes, limits.processes),
        (Resource::Memory, limits.memory),
        (Resource::File, limits.file),
        (Resource::CpuSeconds, limits.cpu_seconds),
    ];
    for (resource, value) in all.into_iter().filter(|(_, value)| *value > 0) {
        // A lower limit that is set already cannot be raised, and holds.
        let _ = system::limit(resource, value);
    }
    failed("limit dumps", system::limit(Resource::Dump, 0))
}

/// Waits for all children; the exit code is that of this one, which ends the wait.
fn wait_for(child: i32) -> Result<u8, String> {
    loop {
        match failed("wait", system::wait())? {
            Some((id, code)) if id == child => return Ok(code),
            Some(_) => {}
            None => return Ok(255),
        }
    }
}

fn failed<T>(what: &str, outcome: io::Result<T>) -> Result<T, String> {
    outcome.map_err(|error| format!("{what}: {error}"))
}
