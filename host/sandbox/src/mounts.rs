//! What a program sees of the file system, as a list that both backends apply.

use crate::confinement::{Confinement, Network};
use crate::{git, home};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The system's own directories, which are read-only. One that is a link is the same link inside.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/var/lib/dpkg",
];

/// Files of the system that hold secrets, which only root could read outside of a sandbox.
const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/letsencrypt",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/docker",
    "/etc/polkit-1",
];

/// What may be done with a part of the file system; in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// A part of the system.
    System,
    Read,
    Write,
    /// Read-only within what may be written.
    Keep,
    /// Empty.
    Hidden,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) access: Access,
}

/// The file system of a program: each mount after those that contain it.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Links at the top of the file system, and what they name.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    pub(crate) mounts: Vec<Mount>,
}

impl Plan {
    /// # Errors
    ///
    /// Why such a workspace cannot be held.
    pub(crate) fn new(confinement: &Confinement) -> Result<Self, String> {
        let Confinement { workspace, private, .. } = confinement;
        if workspace.parent().is_none() || SYSTEM.iter().any(|system| workspace == Path::new(system)) {
            return Err(format!("no sandbox can hold a program whose workspace is `{}`", workspace.display()));
        }
        let mut plan = Self { links: Vec::new(), mounts: Vec::new() };
        plan.add_system(confinement);
        plan.add(private.join("tmp"), PathBuf::from("/tmp"), Access::Write);
        let home = confinement.home.as_deref().filter(|home| home.is_absolute() && home.parent().is_some());
        if let Some(home) = home {
            plan.add_home(home, confinement);
        }
        for (paths, access) in [(&confinement.read, Access::Read), (&confinement.write, Access::Write)] {
            paths.iter().for_each(|path| plan.add_same(path, access));
        }
        if let Network::Proxy { socket: Some(socket), .. } = &confinement.network {
            plan.add_same(socket, Access::Write);
        }
        plan.add(workspace.clone(), workspace.clone(), Access::Write);
        if let Some(git) = git::of_workspace(workspace) {
            git.write.iter().for_each(|path| plan.add_same(path, Access::Write));
            git.keep.iter().for_each(|path| plan.add_same(path, Access::Keep));
        }
        // A link could name anything, and is judged by what it names.
        let keep = confinement.keep.iter().filter(|path| path.symlink_metadata().is_ok_and(|kind| !kind.is_symlink()));
        keep.for_each(|path| plan.add_same(path, Access::Keep));
        // Each mount costs time, and what this user cannot read by its rights stays so inside.
        let may_read = |path: &PathBuf| File::open(path).is_ok();
        let secrets = SYSTEM_SECRETS.iter().map(PathBuf::from).filter(may_read);
        for path in secrets.chain(confinement.hide.iter().cloned()) {
            plan.add_same(&path, Access::Hidden);
        }
        plan.finish();
        Ok(plan)
    }

    /// Whether something is mounted within that directory.
    pub(crate) fn has_mounts_in(&self, directory: &Path) -> bool {
        self.mounts.iter().any(|mount| mount.target != directory && mount.target.starts_with(directory))
    }

    fn add_system(&mut self, confinement: &Confinement) {
        for system in SYSTEM {
            let path = PathBuf::from(system);
            match path.read_link() {
                Ok(named) => self.links.push((path, named)),
                Err(_) if is_empty(&path) => {}
                Err(_) => self.add_same(&path, Access::System),
            }
        }
        // Where names are resolved is often said in a file below `/run`.
        if confinement.network == Network::Free
            && let Ok(resolved) = Path::new("/etc/resolv.conf").canonicalize()
            && resolved.starts_with("/run")
        {
            self.add_same(&resolved, Access::System);
        }
    }

    fn add_home(&mut self, user: &Path, confinement: &Confinement) {
        let is_workspace = user.canonicalize().is_ok_and(|user| user == confinement.workspace);
        if is_workspace {
            home::OBEYED.iter().for_each(|path| self.add_same(&user.join(path), Access::Keep));
        } else {
            self.add(confinement.private.join("home"), user.to_owned(), Access::Write);
        }
        for path in home::of_path(std::env::var_os("PATH").as_deref(), user, &confinement.hide) {
            self.add_same(&path, Access::Read);
        }
        // Also in what was listed: `read = ["~/.config"]` is not meant to show the tokens in it.
        home::SECRET.iter().for_each(|path| {
            let path = user.join(path);
            let is_listed = confinement.read.iter().chain(&confinement.write).any(|listed| listed.starts_with(&path));
            if !is_listed {
                self.add_same(&path, Access::Hidden);
            }
        });
    }

    /// What is there, at its own place.
    fn add_same(&mut self, path: &Path, access: Access) {
        if path.is_absolute() && path.exists() {
            self.add(path.to_owned(), path.to_owned(), access);
        }
    }

    fn add(&mut self, source: PathBuf, target: PathBuf, access: Access) {
        self.mounts.push(Mount { source, target, access });
    }

    /// Sorts the mounts, leaves one for each place, and drops those that hide what is not to be seen anyway.
    fn finish(&mut self) {
        self.mounts.sort_by(|one, other| {
            let depth = |mount: &Mount| mount.target.components().count();
            (depth(one), &one.target, one.access).cmp(&(depth(other), &other.target, other.access))
        });
        // Of several at one place, the strictest is the last.
        let mut kept: Vec<Mount> = Vec::new();
        for mount in self.mounts.drain(..) {
            if kept.last().is_some_and(|last| last.target == mount.target) {
                kept.pop();
            }
            kept.push(mount);
        }
        // The innermost mount that contains a place decides what is seen there: the machine's own file, or nothing.
        let all = kept.clone();
        kept.retain(|mount| {
            let above =
                all.iter().filter(|other| other.target != mount.target && mount.target.starts_with(&other.target));
            let innermost = above.max_by_key(|other| other.target.components().count());
            let shows = |other: &Mount| other.access != Access::Hidden && other.source == other.target;
            match mount.access {
                // Each mount costs time, and such a place can be read there already.
                Access::System | Access::Read => {
                    !innermost.is_some_and(|other| other.access <= Access::Read && shows(other))
                }
                Access::Write => true,
                Access::Keep | Access::Hidden => innermost.is_some_and(shows),
            }
        });
        self.mounts = kept;
    }
}

/// Whether that is a directory without entries: a mount of it would cost time, and show nothing.
fn is_empty(path: &Path) -> bool {
    path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}
