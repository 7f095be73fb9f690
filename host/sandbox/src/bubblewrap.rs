//! Bubblewrap: a program of the system that makes the namespaces and the file system.

use crate::confinement::{Confinement, Network};
use crate::launcher;
use crate::mounts::{Access, Plan};
use crate::preparation::{self, Descriptors};
use crate::private;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the program's own file and the socket of the proxy are inside.
const LAUNCHER: &str = "/run/bub-wasm";
const SOCKET: &str = "/run/bub-proxy.sock";

/// Folders that are searched in addition to `PATH`.
const FOLDERS: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/bin"];

/// Finds bubblewrap: a file that only root can change, so that no workspace can bring its own.
pub(crate) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    let files = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join("bwrap"));
    files.filter_map(|file| file.canonicalize().ok()).find(|file| is_of_root(file))
}

fn is_of_root(file: &Path) -> bool {
    let held = |path: &Path| path.metadata().is_ok_and(|known| known.uid() == 0 && known.mode() & 0o022 == 0);
    file.is_file() && file.ancestors().all(held)
}

/// Whether it works here: it needs namespaces, which some systems deny. The result says whether this process may enter
/// those that it makes.
///
/// # Errors
///
/// What it said.
pub(crate) fn probe(program: &Path) -> Result<bool, String> {
    let mut child = None;
    let entered = preparation::probe(|descriptors| {
        let mut command = Command::new(program);
        command.args(namespaces(&Network::Off)).args(handshake(descriptors));
        command.args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", ":"]);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        child = Some(command.spawn()?);
        Ok(())
    });
    let Some(child) = child else { return Err(entered.err().map_or_else(String::new, |error| error.to_string())) };
    match child.wait_with_output() {
        Ok(output) if output.status.success() => Ok(entered.unwrap_or(false)),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it failed").to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn handshake(descriptors: Descriptors) -> [OsString; 4] {
    let Descriptors { info, block } = descriptors;
    ["--info-fd".into(), info.to_string().into(), "--block-fd".into(), block.to_string().into()]
}

fn namespaces(network: &Network) -> Vec<&'static str> {
    let mut words = vec!["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
    words.extend(["--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
    if *network != Network::Free {
        words.push("--unshare-net");
    }
    words
}

/// How bubblewrap and this process are connected.
pub(crate) enum Connection<'a> {
    /// By pipes: what the command needs besides is done by this process.
    Handshake(Descriptors),
    /// Not at all: this program, at that path, and a shell do it inside.
    Inside(&'a Path),
}

/// The words before a command.
///
/// # Errors
///
/// Why such a program cannot be held.
pub(crate) fn words(
    bwrap: &Path,
    (confinement, directory): (&Confinement, &Path),
    filter: i32,
    connection: &Connection<'_>,
) -> Result<Vec<OsString>, String> {
    let plan = Plan::new(confinement)?;
    let mut words: Vec<OsString> = vec![bwrap.into()];
    words.extend(namespaces(&confinement.network).into_iter().map(OsString::from));
    words.extend(["--seccomp".into(), filter.to_string().into()]);
    if let Connection::Handshake(descriptors) = connection {
        words.extend(handshake(*descriptors));
    }
    for (link, named) in &plan.links {
        words.extend(["--symlink".into(), named.into(), link.into()]);
    }
    words.extend(["--proc", "/proc", "--dev", "/dev", "--symlink", "/tmp", "/var/tmp"].map(OsString::from));
    // Root may change settings of the kernel by its rights alone, whatever it gave up. One mount, because each costs a
    // quarter of a millisecond.
    if rustix::process::geteuid().is_root() {
        words.extend(["--remount-ro", "/proc"].map(OsString::from));
    }
    let mut closed: Vec<OsString> = Vec::new();
    for mount in &plan.mounts {
        let target = || mount.target.clone().into();
        match mount.access {
            Access::System | Access::Read | Access::Keep => {
                words.extend(["--ro-bind".into(), mount.source.clone().into(), target()]);
            }
            Access::Write => words.extend(["--bind".into(), mount.source.clone().into(), target()]),
            Access::Hidden if mount.source.is_dir() && plan.has_mounts_in(&mount.target) => {
                words.extend(["--tmpfs".into(), target()]);
                // Only at the end: mounts within it still need their places.
                closed.extend(["--remount-ro".into(), target()]);
            }
            Access::Hidden if mount.source.is_dir() => {
                words.extend(["--ro-bind".into(), confinement.private.join(private::EMPTY).into(), target()]);
            }
            Access::Hidden => words.extend(["--ro-bind".into(), "/dev/null".into(), target()]),
        }
    }
    let mut inside: Vec<OsString> = Vec::new();
    if let (Network::Proxy { socket: Some(socket), loopback }, Connection::Inside(own_program)) =
        (&confinement.network, connection)
    {
        words.extend(["--ro-bind".into(), own_program.as_os_str().to_owned(), LAUNCHER.into()]);
        words.extend(["--bind".into(), socket.into(), SOCKET.into()]);
        inside.extend([LAUNCHER, launcher::COMMAND, launcher::RELAY, SOCKET].map(OsString::from));
        inside.extend(loopback.iter().map(OsString::from));
        inside.push("--".into());
    }
    words.extend(closed);
    words.extend(["--remount-ro", "/", "--chdir"].map(OsString::from));
    words.extend([directory.into(), "--".into()]);
    words.extend(inside);
    if let Connection::Inside(_) = connection {
        words.extend(crate::limits::words(&confinement.limits));
    }
    Ok(words)
}
