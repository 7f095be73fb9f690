//! What this machine can hold programs with.

use crate::backend::{Backend, Setting};
use crate::confinement::{Confinement, Limits};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What this machine can hold programs with, found out once.
#[derive(Debug)]
pub struct Sandbox {
    backend: Backend,
    /// Why better backends are not used.
    why: Vec<String>,
    own_program: PathBuf,
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    groups: std::sync::OnceLock<Option<crate::limits::Groups>>,
}

/// The words before a command, with files that the process must inherit: keep it until the command was started.
#[derive(Debug, Default)]
pub struct Wrapped {
    /// A program and its arguments, to which those of the command are added. Empty: the command is started as it is.
    pub words: Vec<OsString>,
    _inherited: Option<OwnedFd>,
}

impl Sandbox {
    /// Finds the backend for that setting. `own_program` is a file that begins with [`crate::launcher::main`] if its first
    /// argument is [`crate::launcher::COMMAND`]. Takes some milliseconds.
    pub fn find(setting: Setting, own_program: &Path) -> Self {
        let (backend, why) = find(setting, own_program);
        Self {
            backend,
            why,
            own_program: own_program.to_owned(),
            #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
            groups: std::sync::OnceLock::new(),
        }
    }

    /// The backend.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Why better backends are not used; one line each.
    pub fn why(&self) -> &[String] {
        &self.why
    }

    /// What this backend does not hold; one line each.
    pub fn gaps(&self) -> Vec<&'static str> {
        match &self.backend {
            Backend::Bwrap(_) => Vec::new(),
            Backend::Landlock { has_namespaces, has_mounts } => {
                let mut gaps = vec![
                    "names and dates of files outside of the workspace can be seen, and their rights and dates changed",
                ];
                if !has_mounts {
                    gaps.push("files of the workspace that run later, such as git's hooks, can be changed");
                    gaps.push("sockets of services with a path can be connected to");
                }
                if !has_namespaces {
                    gaps.push("programs that leave their process group can outlive the turn");
                    gaps.push("a network is all or nothing: none, or the machine's");
                }
                gaps
            }
            Backend::None => vec!["programs may do all that you may do"],
        }
    }

    /// The words before a command that runs in `directory`.
    ///
    /// # Errors
    ///
    /// Why such a program cannot be held: one line.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn wrap(&self, confinement: &Confinement, directory: &Path) -> Result<Wrapped, String> {
        let mut wrapped = match &self.backend {
            Backend::None => return Ok(Wrapped::default()),
            Backend::Bwrap(bwrap) => {
                let filter =
                    filter_file().map_err(|error| format!("a filter of system calls cannot be made: {error}"))?;
                let number = std::os::fd::AsRawFd::as_raw_fd(&filter);
                let program = own_file(&self.own_program)?;
                let words = crate::bubblewrap::words(bwrap, &program, (confinement, directory), number)?;
                Wrapped { words, _inherited: Some(filter) }
            }
            Backend::Landlock { .. } => {
                // Its path: a shell that sets limits before would be what `/proc/self/exe` names then.
                let words = crate::launcher::words(&own_file(&self.own_program)?, confinement)?;
                Wrapped { words, _inherited: None }
            }
        };
        let mut words = self.groups(&confinement.limits).map(crate::limits::Groups::words).unwrap_or_default();
        words.append(&mut wrapped.words);
        wrapped.words = words;
        Ok(wrapped)
    }

    /// The words before a command that runs in `directory`: none.
    ///
    /// # Errors
    ///
    /// None on this system.
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    pub fn wrap(&self, _: &Confinement, _: &Path) -> Result<Wrapped, String> {
        Ok(Wrapped::default())
    }

    /// Whether processes and memory are limited together, by a cgroup.
    pub fn has_groups(&self, limits: &Limits) -> bool {
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        return self.groups(limits).is_some();
        #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        return limits.processes == u64::MAX;
    }

    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn groups(&self, limits: &Limits) -> Option<&crate::limits::Groups> {
        self.groups.get_or_init(|| crate::limits::Groups::new(limits)).as_ref()
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn find(_: Setting, _: &Path) -> (Backend, Vec<String>) {
    (Backend::None, vec!["there is no sandbox for programs on this system".to_owned()])
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn find(setting: Setting, own_program: &Path) -> (Backend, Vec<String>) {
    let mut why = Vec::new();
    if matches!(setting, Setting::Auto | Setting::Bwrap) {
        match crate::bubblewrap::find() {
            None => {
                why.push("bubblewrap is not installed; `apt install bubblewrap` or your system's package".to_owned())
            }
            Some(path) => match crate::bubblewrap::probe(&path) {
                Ok(()) => return (Backend::Bwrap(path), why),
                Err(error) => why.push(format!("`{}` does not work here: {error}", path.display())),
            },
        }
    }
    if matches!(setting, Setting::Auto | Setting::Landlock) {
        match crate::launcher::probe(own_program) {
            Ok(backend) => return (backend, why),
            Err(error) => why.push(format!("Landlock does not work here: {error}")),
        }
    }
    if setting == Setting::Off {
        why.push("`sandbox` of `[process]` is `off`".to_owned());
    }
    (Backend::None, why)
}

/// The path of the program's file, which bubblewrap shows inside.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn own_file(program: &Path) -> Result<PathBuf, String> {
    let path = program.canonicalize().map_err(|error| format!("this program's file is not found: {error}"))?;
    Ok(path)
}

/// The filter of system calls as a file that the next process inherits. Another one that starts at the same time inherits
/// it, too: there is nothing in it to hide.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn filter_file() -> std::io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
    let file = memfd_create(c"filter", MemfdFlags::empty())?;
    let bytes = crate::filter::bytes(&crate::filter::filter(true));
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}
