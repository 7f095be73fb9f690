//! Detection of network file systems, on which locks and shared memory may be local to this machine.

use std::io;
use std::path::Path;

/// The network file system of `path`, which must exist: `NFS`, `SMB`, `CIFS`, `9p` or `FUSE` (which may be local, but
/// counts as one). `None` if it is local or unknown.
///
/// # Errors
///
/// The system's error.
pub fn network_file_system(path: &Path) -> io::Result<Option<&'static str>> {
    #[cfg(target_os = "linux")]
    {
        // The field's type differs between systems; the number has 32 bits.
        Ok(by_magic(rustix::fs::statfs(path)?.f_type as u32))
    }
    #[cfg(not(target_os = "linux"))]
    {
        std::fs::metadata(path).map(|_| None)
    }
}

/// The name of a network file system by its number in Linux's `statfs(2)`.
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
