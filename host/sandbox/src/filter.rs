//! The filter of system calls, as a program for the kernel's packet filter.
//!
//! A sandbox is made of what the kernel offers to programs without rights. The calls below are the parts of that offer in
//! which most of its errors were found, and which builds, tests and scripts do not use.

/// An instruction, as in `struct sock_filter`.
#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) jt: u8,
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const ERROR: u32 = 0x0005_0000;

/// Offsets in `struct seccomp_data`; the lower half of an argument comes first on the machines below.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const fn argument(place: u32) -> u32 {
    16 + 8 * place
}

#[cfg(target_arch = "x86_64")]
const THIS_MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_MACHINE: u32 = 0xc000_00b7;

/// Calls of another set (x32) on x86-64.
const OTHER_SET: u32 = 0x4000_0000;

/// Namespaces that `clone` and `unshare` would make: mount, cgroup, uts, ipc, user, pid, net; and, for `unshare` alone,
/// time, whose bit is a signal's in `clone`.
const NAMESPACES: u32 = 0x7e02_0000;
const TIME: u32 = 0x80;

/// Families of sockets: Unix, IPv4, IPv6, netlink.
const FAMILIES: [u32; 4] = [1, 2, 10, 16];
const RAW: u32 = 3;
const PACKET: u32 = 10;

/// Control of terminals that types for the user.
const TERMINAL: [u32; 2] = [0x5412, 0x541c];

/// Calls that are refused whatever their arguments.
#[rustfmt::skip]
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp, libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise, libc::SYS_perf_event_open,
    // The file system, and files without their paths.
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_move_mount, libc::SYS_open_tree,
    libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_quotactl,
    libc::SYS_fanotify_init,
    // Namespaces.
    libc::SYS_setns,
    // Programs in the kernel, its keys, modules and logs.
    libc::SYS_bpf, libc::SYS_userfaultfd, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_init_module, libc::SYS_finit_module,
    libc::SYS_delete_module, libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_syslog, libc::SYS_acct,
    // The machine.
    libc::SYS_reboot, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime, libc::SYS_adjtimex,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_vhangup,
    // Pages of other processes.
    libc::SYS_migrate_pages, libc::SYS_move_pages,
    #[cfg(target_arch = "x86_64")] libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")] libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")] libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")] libc::SYS_uselib,
];

/// The filter. `has_network`: whether sockets of the internet may be made at all.
pub(crate) fn filter(has_network: bool) -> Vec<Instruction> {
    let eperm = ERROR | libc::EPERM as u32;
    let enosys = ERROR | libc::ENOSYS as u32;
    let jump = |code, k, jt, jf| Instruction { code, jt, jf, k };
    let plain = |code, k| Instruction { code, jt: 0, jf: 0, k };
    let mut all = vec![plain(LOAD, MACHINE), jump(EQUAL, THIS_MACHINE, 1, 0), plain(RETURN, KILL), plain(LOAD, NUMBER)];
    all.extend([jump(AT_LEAST, OTHER_SET, 0, 1), plain(RETURN, eperm)]);
    for call in REFUSED {
        all.extend([jump(EQUAL, number(*call), 0, 1), plain(RETURN, eperm)]);
    }
    // Its flags are in memory, which a filter cannot read: libraries fall back to `clone` on this error.
    all.extend([jump(EQUAL, number(libc::SYS_clone3), 0, 1), plain(RETURN, enosys)]);
    for (call, flags) in [(libc::SYS_clone, NAMESPACES), (libc::SYS_unshare, NAMESPACES | TIME)] {
        all.extend([jump(EQUAL, number(call), 0, 4), plain(LOAD, argument(0))]);
        all.extend([jump(ANY_BIT, flags, 0, 1), plain(RETURN, eperm), plain(RETURN, ALLOW)]);
    }
    let mut ioctl = vec![plain(LOAD, argument(1))];
    for request in TERMINAL {
        ioctl.extend([jump(EQUAL, request, 0, 1), plain(RETURN, eperm)]);
    }
    ioctl.push(plain(RETURN, ALLOW));
    let socket = socket(has_network, eperm);
    for (call, part) in [(libc::SYS_ioctl, ioctl), (libc::SYS_socket, socket.clone()), (libc::SYS_socketpair, socket)] {
        all.push(jump(EQUAL, number(call), 0, part.len() as u8));
        all.extend(part);
    }
    all.push(plain(RETURN, ALLOW));
    all
}

/// What is asked of a call that makes a socket.
fn socket(has_network: bool, eperm: u32) -> Vec<Instruction> {
    let jump = |code, k, jt, jf| Instruction { code, jt, jf, k };
    let plain = |code, k| Instruction { code, jt: 0, jf: 0, k };
    let [unix, ipv4, ipv6, netlink] = FAMILIES;
    let mut all = vec![plain(LOAD, argument(0))];
    all.extend([jump(EQUAL, unix, 0, 1), plain(RETURN, ALLOW)]);
    // Of netlink the part that libraries ask for addresses: protocol 0.
    all.extend([jump(EQUAL, netlink, 0, 4), plain(LOAD, argument(2))]);
    all.extend([jump(EQUAL, 0, 0, 1), plain(RETURN, ALLOW), plain(RETURN, eperm)]);
    if has_network {
        all.extend([jump(EQUAL, ipv4, 2, 0), jump(EQUAL, ipv6, 1, 0), plain(RETURN, eperm)]);
        all.extend([plain(LOAD, argument(1)), plain(AND, 0xf)]);
        all.extend([jump(EQUAL, RAW, 0, 1), plain(RETURN, eperm), jump(EQUAL, PACKET, 0, 1), plain(RETURN, eperm)]);
        all.push(plain(RETURN, ALLOW));
    } else {
        all.push(plain(RETURN, eperm));
    }
    all
}

/// A call's number; none is negative.
fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// The bytes that bubblewrap reads.
pub(crate) fn bytes(filter: &[Instruction]) -> Vec<u8> {
    let of_one = |one: &Instruction| {
        let [c0, c1] = one.code.to_ne_bytes();
        let [k0, k1, k2, k3] = one.k.to_ne_bytes();
        [c0, c1, one.jt, one.jf, k0, k1, k2, k3]
    };
    filter.iter().flat_map(of_one).collect()
}
