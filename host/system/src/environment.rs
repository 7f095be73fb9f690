//! The environment that the process was started with.
//!
//! Keys stand in it, and the system shows it to every program of the same user (`/proc/PID/environ`). So the program copies
//! it once, at its very start, and blanks what may be a key where the system looks.
//!
//! **Invariant**: nothing else in the program reads the process's environment for a value that may be a key.

use std::ffi::{CStr, OsStr, OsString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// The variables as they were at the start.
static AT_START: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();

/// What the project's own variables begin with.
const OWN_PREFIX: &[u8] = b"BUB_";

/// Those of the project's own that hold no key and are read elsewhere.
const OWN_PUBLIC: [&[u8]; 2] = [b"BUB_HOME", b"BUB_FAILPOINT"];

/// Parts of names of variables that hold keys.
const KEY_NAMES: [&[u8]; 7] = [b"KEY", b"TOKEN", b"SECRET", b"PASSWORD", b"PASSWD", b"PGPASS", b"CREDENTIAL"];

/// All variables of the process, as they were when it was started.
pub fn all() -> Vec<(OsString, OsString)> {
    AT_START.get().cloned().unwrap_or_else(|| std::env::vars_os().collect())
}

/// One of them.
pub fn get(name: &str) -> Option<OsString> {
    match AT_START.get() {
        Some(variables) => variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
        None => std::env::var_os(name),
    }
}

/// Keeps other processes of the same user from reading this one's memory and environment, and keys out of core files and
/// out of the environment that the system shows. To be called once, before any other thread is started.
pub fn seal() {
    forbid_dumps();
    if AT_START.set(std::env::vars_os().collect()).is_ok() && is_single_threaded() {
        blank_keys();
    }
}

/// Neither core files nor, on Linux, a look into this process by others of its user.
fn forbid_dumps() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Programs may still raise it for themselves. What the system refuses here cannot be helped, and the environment is
    // blanked all the same.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..getrlimit(Resource::Core) });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Whether this is the only thread. Elsewhere than on Linux that is not known, and the environment stays.
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
    // are this process's own memory, made writable by the system at its start. `seal` has seen that there is no other
    // thread, so nothing reads or changes the list or the strings meanwhile, and no reference into them is left from
    // before: `vars_os` copies. Each string keeps its length and its final zero.
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

/// Whether a variable of that name and value may hold a key. Proxies are read by the HTTP client from the environment.
fn may_be_key(name: &[u8], value: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    if name.starts_with(OWN_PREFIX) {
        return !OWN_PUBLIC.contains(&name.as_slice());
    }
    let contains = |part: &&[u8]| name.windows(part.len()).any(|window| window == *part);
    let is_proxy = name.ends_with(b"_PROXY");
    KEY_NAMES.iter().any(contains) || name.ends_with(b"_PAT") || (!is_proxy && has_password(OsStr::from_bytes(value)))
}

/// Whether a value is an address with a password in it: `postgres://me:secret@db`.
pub fn has_password(value: &OsStr) -> bool {
    let Some(value) = value.to_str() else { return false };
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| !user.is_empty())
}
