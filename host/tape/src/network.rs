//! Which file systems lie on another machine. Locks and shared memory may hold on this one alone there.

use std::io;
use std::path::Path;

/// The file system of `path`, which must exist, if it is a network file system: `NFS`, `SMB`, `CIFS`, `9p` or `FUSE`.
/// Of the last one it cannot be told, and it counts as one. `None` elsewhere, and where this is not known.
///
/// # Errors
///
/// What the system says when it cannot look.
pub fn network_file_system(path: &Path) -> io::Result<Option<&'static str>> {
    #[cfg(target_os = "linux")]
    {
        // The type is 32 or 64 bits wide, with a sign or without; the number itself has 32 bits.
        Ok(by_magic(rustix::fs::statfs(path)?.f_type as u32))
    }
    #[cfg(not(target_os = "linux"))]
    {
        std::fs::metadata(path).map(|_| None)
    }
}

/// The file system of that number in Linux's `statfs(2)`, when it is one of another machine.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has these numbers"))]
fn by_magic(magic: u32) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0xfe53_4d42 => Some("SMB"),
        0xff53_4d42 => Some("CIFS"),
        0x0102_1997 => Some("9p"),
        0x6573_5546 => Some("FUSE"),
        _ => None,
    }
}
