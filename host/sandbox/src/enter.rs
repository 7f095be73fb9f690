//! Sockets in the network of another process, and its limits.
//!
//! A network belongs to the user namespace that it was made in, and only a process of that namespace with one thread may
//! enter both. So a child that shares the memory and the files of this process enters them, makes the sockets, and ends:
//! a socket stays in the network in which it was made, also when another process accepts its connections.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::ffi::c_void;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The request for the user namespace that owns a namespace.
const OWNER: libc::c_ulong = 0xb701;

/// The stack of the child, in bytes.
const STACK: usize = 64 << 10;

/// Connections that wait to be accepted.
const BACKLOG: libc::c_int = 128;

/// An address of the loopback that is listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    V4(u16),
    V6(u16),
}

/// What the child is given, and what it gives back.
struct Work<'a> {
    user: RawFd,
    network: RawFd,
    addresses: &'a [Address],
    /// A socket or -1 for each address.
    sockets: &'a mut [RawFd],
    /// The error number if the namespaces could not be entered.
    error: i32,
}

/// Listens on these addresses in the network of that process, whose user namespace is one of this user. The result has
/// none for an address that is taken, or of a family that the system lacks.
///
/// # Errors
///
/// The process is gone, or this system does not let its namespaces be entered.
pub(crate) fn listen(process: i32, addresses: &[Address]) -> io::Result<Vec<Option<TcpListener>>> {
    let network = open(format!("/proc/{process}/ns/net"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    // The process is gone.
    let network = network.map_err(|error| if error == Errno::NOENT { Errno::SRCH } else { error })?;
    // SAFETY: the request takes nothing, and returns a new file that nothing else owns.
    let user = match unsafe { libc::ioctl(network.as_raw_fd(), OWNER as _) } {
        -1 => return Err(io::Error::last_os_error()),
        // SAFETY: see above.
        number => unsafe { OwnedFd::from_raw_fd(number) },
    };
    let mut sockets = vec![-1; addresses.len()];
    let mut work =
        Work { user: user.as_raw_fd(), network: network.as_raw_fd(), addresses, sockets: &mut sockets, error: 0 };
    run(&mut work)?;
    let error = work.error;
    // SAFETY: the child made these in the table of files that it shared with this process, and nothing else owns them.
    let made = sockets.into_iter().map(|socket| (socket >= 0).then(|| unsafe { TcpListener::from_raw_fd(socket) }));
    let made = made.collect();
    if error == 0 { Ok(made) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Runs [`child`] in a process that shares memory and files with this one, and waits for it.
fn run(work: &mut Work<'_>) -> io::Result<()> {
    let mut stack = vec![0_u128; STACK / 16];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
    // SAFETY: a set of signals is plain data, which the calls below fill.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // A signal would run its handler in the child, too.
    // SAFETY: both sets live until the calls return.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
    }
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: this thread stands still until the child has ended (`CLONE_VFORK`), so the stack and the work outlive it and
    // nothing else uses them. The child calls the system alone: it takes no lock and does not panic.
    let id = unsafe { libc::clone(child, top.cast(), flags, (&raw mut *work).cast()) };
    let error = io::Error::last_os_error();
    // SAFETY: the set was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    if id == -1 {
        return Err(error);
    }
    let mut status = 0;
    // SAFETY: the status lives until the call returns. The child has no signal for its end, which `__WALL` allows for.
    while unsafe { libc::waitpid(id, &raw mut status, libc::__WALL) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    drop(stack);
    Ok(())
}

/// The child.
extern "C" fn child(given: *mut c_void) -> libc::c_int {
    // SAFETY: it is the work of `run`, which waits and does not use it meanwhile.
    let work = unsafe { &mut *given.cast::<Work<'_>>() };
    for (namespace, kind) in [(work.user, libc::CLONE_NEWUSER), (work.network, libc::CLONE_NEWNET)] {
        // SAFETY: the call takes numbers, and changes this process alone.
        if unsafe { libc::setns(namespace, kind) } == -1 {
            work.error = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM);
            return 1;
        }
    }
    for (place, address) in work.sockets.iter_mut().zip(work.addresses) {
        *place = socket(*address);
    }
    0
}

/// A socket that listens there, or -1.
fn socket(address: Address) -> RawFd {
    let (family, level, option) = match address {
        Address::V4(_) => (libc::AF_INET, libc::IPPROTO_IP, libc::IP_FREEBIND),
        Address::V6(_) => (libc::AF_INET6, libc::IPPROTO_IPV6, libc::IPV6_FREEBIND),
    };
    // SAFETY: the calls take numbers, and structures that live until they return and have the lengths that are given.
    unsafe {
        let made = libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0);
        if made == -1 {
            return -1;
        }
        let on: libc::c_int = 1;
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // The loopback may not be up yet, so it has no address.
        let _ = libc::setsockopt(made, level, option, (&raw const on).cast(), length);
        let bound = match address {
            Address::V4(port) => {
                let mut at: libc::sockaddr_in = std::mem::zeroed();
                at.sin_family = libc::AF_INET as libc::sa_family_t;
                at.sin_port = port.to_be();
                at.sin_addr.s_addr = u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets());
                libc::bind(made, (&raw const at).cast(), size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
            Address::V6(port) => {
                let _ = libc::setsockopt(made, level, libc::IPV6_V6ONLY, (&raw const on).cast(), length);
                let mut at: libc::sockaddr_in6 = std::mem::zeroed();
                at.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                at.sin6_port = port.to_be();
                at.sin6_addr.s6_addr = Ipv6Addr::LOCALHOST.octets();
                libc::bind(made, (&raw const at).cast(), size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        };
        if bound == -1 || libc::listen(made, BACKLOG) == -1 {
            libc::close(made);
            return -1;
        }
        made
    }
}

/// A limit of that process, and of those that it starts. A lower one that is set already stays.
pub(crate) fn limit(process: i32, resource: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let mut known = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both limits live until the calls return.
    unsafe {
        if libc::prlimit(process, resource, std::ptr::null(), &raw mut known) == -1 {
            return Err(io::Error::last_os_error());
        }
        let value = value.min(known.rlim_max);
        let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
        if libc::prlimit(process, resource, &raw const limit, std::ptr::null_mut()) == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Waits until there is something to read, or the end. False: there was not in that time.
pub(crate) fn is_readable(file: &impl AsRawFd, patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        let rest = deadline.saturating_duration_since(Instant::now()).as_millis();
        // SAFETY: one structure is given, which lives until the call returns.
        match unsafe { libc::poll(&raw mut asked, 1, i32::try_from(rest).unwrap_or(i32::MAX)) } {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            count => return Ok(count > 0),
        }
    }
}
