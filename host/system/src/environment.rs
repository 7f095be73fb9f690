//! The environment that the process was started with.
//!
//! It may hold keys, and the system shows it to every program of the same user (`/proc/PID/environ`). So the program
//! copies it at its start, and blanks possible keys in the original.
//!
//! **Invariant**: nothing else in the program reads the process's environment for a value that may be a key.

use std::ffi::{CStr, OsStr, OsString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// The variables as they were at the start.
static AT_START: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();

/// Prefix of the project's own variables.
const OWN_PREFIX: &[u8] = b"BUB_";

/// The project's own variables that hold no key and are read elsewhere.
const OWN_PUBLIC: [&[u8]; 2] = [b"BUB_HOME", b"BUB_FAILPOINT"];

/// Parts of the names of variables that hold keys.
const KEY_NAMES: [&[u8]; 8] =
    [b"KEY", b"TOKEN", b"SECRET", b"PASSWORD", b"PASSWD", b"PGPASS", b"CREDENTIAL", b"HEADERS"];

/// All variables of the process, as they were when it was started.
pub fn all() -> Vec<(OsString, OsString)> {
    AT_START.get().cloned().unwrap_or_else(|| std::env::vars_os().collect())
}

/// A variable of the process, as it was when it was started.
pub fn get(name: &str) -> Option<OsString> {
    match AT_START.get() {
        Some(variables) => variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
        None => std::env::var_os(name),
    }
}

/// Keeps other processes of the same user from reading this one's memory and environment, and keys out of core files
/// and of the environment that the system shows. Call it once, before any other thread is started.
pub fn seal() {
    forbid_dumps();
    if AT_START.set(std::env::vars_os().collect()).is_ok() && is_single_threaded() {
        blank_keys();
    }
}

/// Disables core files and, on Linux, access to this process by others of its user.
fn forbid_dumps() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Child processes may still raise the limit for themselves. Failures are ignored: the environment is blanked in any
    // case.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..getrlimit(Resource::Core) });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Whether this is the only thread. Systems other than Linux do not say, and the environment is left unchanged there.
fn is_single_threaded() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

// SAFETY: the C library has this variable under this name and type.
#[allow(unsafe_code, reason = "the C library's name for the block that `/proc/PID/environ` shows")]
unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Overwrites values that may be keys in the block that the system shows. Their names stay, with an empty value.
fn blank_keys() {
    // SAFETY: `environ` is the C library's: null, or a list of pointers to strings that ends with a null. The strings
    // are this process's own memory, made writable by the system at its start. `seal` has checked that there is no
    // other thread, so nothing accesses the list or the strings meanwhile, and no earlier reference into them exists:
    // `vars_os` copies. Each string keeps its length and its final zero.
    #[allow(unsafe_code, reason = "no safe function reaches the block that `/proc/PID/environ` shows")]
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            let length = CStr::from_ptr(*at).count_bytes();
            let text = std::slice::from_raw_parts_mut((*at).cast::<u8>(), length);
            if let Some(equals) = text.iter().position(|byte| *byte == b'=') {
                let (name, value) = text.split_at_mut(equals);
                let value = value.get_mut(1..).unwrap_or_default();
                if may_be_key(name, value) {
                    value.fill(0);
                }
            }
            at = at.add(1);
        }
    }
}

/// Whether a variable of that name and value may hold a key. The HTTP client reads proxies from the environment.
fn may_be_key(name: &[u8], value: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    if name.starts_with(OWN_PREFIX) {
        return !OWN_PUBLIC.contains(&name.as_slice());
    }
    let contains = |part: &&[u8]| name.windows(part.len()).any(|window| window == *part);
    let is_proxy = name.ends_with(b"_PROXY");
    KEY_NAMES.iter().any(contains) || name.ends_with(b"_PAT") || (!is_proxy && has_password(OsStr::from_bytes(value)))
}

/// Whether a value is a URL with a password: `postgres://me:secret@db`.
pub fn has_password(value: &OsStr) -> bool {
    let Some(value) = value.to_str() else { return false };
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| !user.is_empty())
}
