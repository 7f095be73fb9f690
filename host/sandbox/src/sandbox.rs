//! What this machine can hold programs with.

use crate::backend::{Backend, Setting};
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::bubblewrap::{Connection, words};
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::confinement::Network;
use crate::confinement::{Confinement, Limits};
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::known::Known;
use crate::preparation::Preparation;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::preparation::{Handshake, PROXY_PORT};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use std::sync::Arc;

/// What this machine can hold programs with, found out once.
#[derive(Debug)]
pub struct Sandbox {
    backend: Backend,
    /// Whether this process may enter the namespaces that the backend makes.
    may_enter: bool,
    /// Why better backends are not used.
    why: Vec<String>,
    own_program: PathBuf,
    /// What is kept about bubblewrap.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    known: Option<PathBuf>,
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    groups: std::sync::OnceLock<Option<Arc<crate::limits::Groups>>>,
}

/// The words before a command, and what is done around its start.
#[derive(Debug, Default)]
pub struct Wrapped {
    /// A program and its arguments, to which those of the command are added. Empty: the command is started as it is.
    pub words: Vec<OsString>,
    /// Variables that the command gets.
    pub variables: Vec<(&'static str, String)>,
    /// To be completed once the command was started.
    pub preparation: Preparation,
}

impl Sandbox {
    /// Finds the backend for that setting. `own_program` is a file that begins with [`crate::launcher::main`] if its first
    /// argument is [`crate::launcher::COMMAND`]. `cache`: a directory in which it is kept that bubblewrap works here, because the
    /// test of it takes some milliseconds.
    pub fn find(setting: Setting, own_program: &Path, cache: Option<&Path>) -> Self {
        let (backend, may_enter, why) = find(setting, own_program, cache);
        Self {
            backend,
            may_enter,
            why,
            own_program: own_program.to_owned(),
            #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
            known: cache.map(Known::file),
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

    /// Whether a proxy for the programs has to listen on a socket with a path: they cannot be reached otherwise.
    pub fn needs_socket(&self) -> bool {
        !self.may_enter
    }

    /// The words before a command that runs in `directory`.
    ///
    /// # Errors
    ///
    /// Why such a program cannot be held: one line.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn wrap(&self, confinement: &Confinement, directory: &Path) -> Result<Wrapped, String> {
        let failed = |error: std::io::Error| format!("a program cannot be prepared: {error}");
        let groups = self.groups(&confinement.limits);
        let mut wrapped = Wrapped::default();
        match &self.backend {
            Backend::None => return Ok(wrapped),
            Backend::Bwrap(bwrap) => {
                let filter = crate::preparation::inherited(&crate::filter::bytes(&crate::filter::filter(true)));
                let filter = filter.map_err(failed)?;
                let number = std::os::fd::AsRawFd::as_raw_fd(&filter);
                wrapped.preparation.inherited.push(filter);
                let given = (confinement, directory);
                if self.may_enter {
                    let (handshake, descriptors, inherited) =
                        Handshake::new(confinement.limits, &confinement.network).map_err(failed)?;
                    let handshake = handshake.forgetting(self.known.clone());
                    wrapped.words = words(bwrap, given, number, &Connection::Handshake(descriptors))?;
                    wrapped.preparation.inherited.extend(inherited);
                    wrapped.preparation.handshake = Some(handshake);
                    if let Network::Proxy { .. } = confinement.network {
                        wrapped.variables = crate::variables(PROXY_PORT);
                    }
                } else {
                    let program = own_file(&self.own_program)?;
                    wrapped.words = groups.as_ref().map(|groups| groups.words()).unwrap_or_default();
                    wrapped.words.extend(words(bwrap, given, number, &Connection::Inside(&program))?);
                }
            }
            Backend::Landlock { .. } => {
                wrapped.words = groups.as_ref().map(|groups| groups.words()).unwrap_or_default();
                // Its path: a shell that sets limits before would be what `/proc/self/exe` names then.
                wrapped.words.extend(crate::launcher::words(&own_file(&self.own_program)?, confinement)?);
            }
        }
        wrapped.preparation.groups = groups;
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
    fn groups(&self, limits: &Limits) -> Option<Arc<crate::limits::Groups>> {
        self.groups.get_or_init(|| crate::limits::Groups::new(limits).map(Arc::new)).clone()
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn find(_: Setting, _: &Path, _: Option<&Path>) -> (Backend, bool, Vec<String>) {
    (Backend::None, false, vec!["there is no sandbox for programs on this system".to_owned()])
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn find(setting: Setting, own_program: &Path, cache: Option<&Path>) -> (Backend, bool, Vec<String>) {
    let mut why = Vec::new();
    if matches!(setting, Setting::Auto | Setting::Bwrap) {
        match crate::bubblewrap::find() {
            None => {
                why.push("bubblewrap is not installed; `apt install bubblewrap` or your system's package".to_owned())
            }
            Some(path) => {
                let known = Known::new(&path);
                if let Some(may_enter) = cache.and_then(|cache| known.read(cache)) {
                    return (Backend::Bwrap(path), may_enter, why);
                }
                match crate::bubblewrap::probe(&path) {
                    Ok(may_enter) => {
                        if let Some(cache) = cache {
                            known.write(cache, may_enter);
                        }
                        return (Backend::Bwrap(path), may_enter, why);
                    }
                    Err(error) => {
                        let reasons = crate::namespaces::denials();
                        why.push(format!("`{}` does not work here: {error}", path.display()));
                        why.extend(reasons);
                    }
                }
            }
        }
    }
    if matches!(setting, Setting::Auto | Setting::Landlock) {
        match crate::launcher::probe(own_program) {
            Ok(backend) => {
                if let Backend::Landlock { has_namespaces: false, .. } | Backend::Landlock { has_mounts: false, .. } =
                    backend
                {
                    why.extend(crate::namespaces::denials());
                    why.dedup();
                }
                return (backend, false, why);
            }
            Err(error) => why.push(format!("Landlock does not work here: {error}")),
        }
    }
    if setting == Setting::Off {
        why.push("`sandbox` of `[process]` is `off`".to_owned());
    }
    (Backend::None, false, why)
}

/// The path of the program's file, which bubblewrap shows inside.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn own_file(program: &Path) -> Result<PathBuf, String> {
    let path = program.canonicalize().map_err(|error| format!("this program's file is not found: {error}"))?;
    Ok(path)
}
