//! A file of compiled code: the code as the compiler gave it, and behind it a checksum. The code stands first so that the
//! file can be mapped where it lies.
//!
//! The checksum detects damage, not tampering: a process that can write the file can write the checksum too. The
//! permissions of file and directory prevent that.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use wasmtime::component::Component;
use wasmtime::{Engine, Result};

/// The checksum: CRC-32 of the code, its lowest byte first.
const CHECKSUM: usize = 4;

/// The largest code, in bytes: what the compiler may hand over.
pub(super) const MAX_IMAGE: u64 = 256 << 20;

/// Bytes that are looked at at once. They stay in the processor's own memory.
const AT_ONCE: usize = 64 << 10;

/// The checksum behind the code in its file.
pub(super) fn checksum(code: &[u8]) -> [u8; CHECKSUM] {
    crc32fast::hash(code).to_le_bytes()
}

/// The bytes of code in a file of a possible length.
///
/// # Errors
///
/// The system's error when the file's metadata cannot be read.
pub(super) fn length(file: &File) -> io::Result<Option<u64>> {
    Ok(file.metadata()?.len().checked_sub(CHECKSUM as u64).filter(|code| *code <= MAX_IMAGE))
}

/// The bytes of code in the file; none where it is not as it was written.
///
/// # Errors
///
/// The system's error when it cannot be read.
pub(super) fn whole(file: &File) -> io::Result<Option<u64>> {
    let Some(code) = length(file)? else { return Ok(None) };
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; AT_ONCE];
    let mut at = 0;
    while at < code {
        let part = usize::try_from(code - at).map_or(AT_ONCE, |left| left.min(AT_ONCE));
        file.read_exact_at(&mut buffer[..part], at)?;
        hasher.update(&buffer[..part]);
        at += part as u64;
    }
    let mut written = [0; CHECKSUM];
    file.read_exact_at(&mut written, code)?;
    Ok((hasher.finalize().to_le_bytes() == written).then_some(code))
}

/// The component of a file that is [`whole`], mapped: what no call needs is never read, and memories of instances begin as
/// its pages.
///
/// # Errors
///
/// The code was made for another engine, or this machine has no names for open files.
///
/// # Safety
///
/// As for `Component::deserialize_file`: this program wrote the code, and the file is not written from here on.
#[allow(unsafe_code, reason = "mapping compiled code is loading it; the caller answers for it")]
pub(super) unsafe fn map(engine: &Engine, file: &File) -> Result<Component> {
    // The file that was opened and looked at, under a name: by its own name another could lie there by now.
    let name = format!("/dev/fd/{}", file.as_raw_fd());
    // SAFETY: it is the caller's.
    unsafe { Component::deserialize_file(engine, name) }
}

/// The same component, copied.
///
/// # Errors
///
/// The file cannot be read, or the code was made for another engine.
///
/// # Safety
///
/// As for `Component::deserialize`: this program wrote the code.
#[allow(unsafe_code, reason = "deserialize is how compiled code is loaded; the caller answers for it")]
pub(super) unsafe fn copy(engine: &Engine, file: &File, code: u64) -> Result<Component> {
    let mut bytes = vec![0; usize::try_from(code)?];
    file.read_exact_at(&mut bytes, 0)?;
    // SAFETY: it is the caller's.
    unsafe { Component::deserialize(engine, bytes) }
}
