//! System calls.

use crate::filter::Instruction;
use std::ffi::{CStr, CString, c_ulong};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) use libc::{
    CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, MS_BIND, MS_NODEV, MS_NOSUID,
    MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT,
};

/// Of the two processes after [`fork`], the one that this is.
pub(super) enum Fork {
    Child,
    Parent(i32),
}

fn outcome(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Moves this process, or its next children, into namespaces of their own.
pub(super) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes a number, and the flags that are used here move no memory or files of other threads.
    outcome(unsafe { libc::unshare(flags) })
}

/// Divides the process. It must have one thread.
pub(super) fn fork() -> io::Result<Fork> {
    // SAFETY: the launcher has one thread whenever it calls this, so no lock is held by a thread that the child lacks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent(child)),
    }
}

/// Ends with that signal together with the process that started this one.
pub(super) fn die_with_parent() -> io::Result<()> {
    // SAFETY: the call takes numbers.
    outcome(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong, 0, 0, 0) })
}

/// From here on no program that is started has more rights than this one.
pub(super) fn set_no_new_privileges() -> io::Result<()> {
    // SAFETY: the call takes numbers.
    outcome(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0, 0, 0) })
}

/// Lets go of all capabilities for good.
pub(super) fn drop_capabilities() -> io::Result<()> {
    for capability in 0..64 as c_ulong {
        // SAFETY: the call takes numbers. It fails for numbers that the system does not know.
        let _ = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    #[repr(C)]
    struct Header {
        version: u32,
        pid: libc::c_int,
    }
    let mut header = Header { version: 0x2008_0522, pid: 0 };
    let sets = [[0_u32; 3]; 2];
    // SAFETY: both are of the form that this version of the call reads, and live until it returns.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) };
    outcome(if result == -1 { -1 } else { 0 })
}

/// Installs a filter of system calls.
pub(super) fn install(filter: &[Instruction]) -> io::Result<()> {
    let mut program: Vec<libc::sock_filter> =
        filter.iter().map(|one| libc::sock_filter { code: one.code, jt: one.jt, jf: one.jf, k: one.k }).collect();
    let length = libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?;
    let given = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: `given` and the instructions that it points to live until the call returns; the kernel checks them.
    outcome(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as c_ulong, &raw const given, 0, 0) })
}

/// Mounts. Empty texts stand for what a kind of mount does not have.
pub(super) fn mount(source: &Path, target: &Path, kind: &CStr, flags: c_ulong, data: &CStr) -> io::Result<()> {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (source, target) = (text(source)?, text(target)?);
    // SAFETY: all texts end with a zero byte and live until the call returns.
    outcome(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) })
}

/// Brings up the loopback interface of a new network.
pub(super) fn raise_loopback() -> io::Result<()> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    // SAFETY: a request of zeros is valid; its fields are set below.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is of the form that this call reads, and lives until it returns.
    outcome(unsafe {
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCSIFFLAGS as _, &raw const request)
    })
}

/// Marks all descriptors but the standard ones, so that the next program does not get them.
pub(super) fn close_on_exec() -> io::Result<()> {
    // SAFETY: the call takes numbers, and closes nothing in this process.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_uint) };
    outcome(if result == -1 { -1 } else { 0 })
}

/// A session without a terminal.
pub(super) fn leave_terminal() -> io::Result<()> {
    // SAFETY: the call takes nothing.
    outcome(unsafe { libc::setsid() })
}

/// From here on this process does not end when it is asked to.
pub(super) fn ignore_termination() {
    // SAFETY: the call takes numbers, and no handler of this process is replaced: it has none.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
}

/// Waits for the next child that ends, and returns its id and its exit code as shells have it. None: there is none.
pub(super) fn wait() -> io::Result<Option<(i32, u8)>> {
    loop {
        let mut status = 0;
        // SAFETY: the status lives until the call returns.
        let child = unsafe { libc::wait(&raw mut status) };
        if child != -1 {
            let code = match libc::WIFSIGNALED(status) {
                true => 128 + libc::WTERMSIG(status),
                false => libc::WEXITSTATUS(status),
            };
            return Ok(Some((child, u8::try_from(code).unwrap_or(255))));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// Limits this process, and those that it starts.
pub(super) fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    let resource = match resource {
        Resource::Processes => libc::RLIMIT_NPROC,
        Resource::Memory => libc::RLIMIT_DATA,
        Resource::File => libc::RLIMIT_FSIZE,
        Resource::CpuSeconds => libc::RLIMIT_CPU,
        Resource::Dump => libc::RLIMIT_CORE,
    };
    // SAFETY: the limit lives until the call returns.
    outcome(unsafe { libc::setrlimit(resource, &raw const limit) })
}

/// What is limited.
pub(super) enum Resource {
    Processes,
    Memory,
    File,
    CpuSeconds,
    Dump,
}
