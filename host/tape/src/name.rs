//! Names of tapes. They become file names, so only this module decides which are valid.

use bub_types::text::escaped;
use std::path::Path;

use md5::{Digest, Md5};

use super::date;
use super::error::{Error, Result};

/// Leaves room for suffixes within the 255 bytes of a file name.
const MAX_NAME: usize = 200;
const MAX_SIDECAR: usize = 64;

/// Separates a tape's name from its sidecar's.
pub(super) const SIDECAR: &str = "__sidecar__";

/// The sidecar with the digests of the entries of a tape and its other sidecars.
pub const CHAIN: &str = "chain";

/// The sidecar with what the turns of a tape have done outside of it.
pub const RECEIPTS: &str = "receipts";

/// Sidecars that only the host writes.
pub const HOST_SIDECARS: [&str; 3] = [super::forgotten::SIDECAR, CHAIN, RECEIPTS];

/// The tape of a session in a workspace, whose path must be absolute and resolved: repositories do not share sessions.
pub fn tape_name(workspace: &Path, session: &str) -> String {
    let workspace = workspace.as_os_str().as_encoded_bytes();
    format!("{}__{}", half(workspace), half(session.as_bytes()))
}

/// The tape that all sessions of a workspace share. No session has it: ids of channel sessions contain a colon, and the
/// user's own are not empty.
pub fn workspace_tape_name(workspace: &Path) -> String {
    tape_name(workspace, "")
}

/// Whether that is the shared tape of any workspace, or an archive or sidecar of one.
pub fn is_workspace_tape(name: &str) -> bool {
    let family = name.split_once(SIDECAR).map_or(name, |(family, _)| family);
    let family = family.split_once('.').map_or(family, |(family, _)| family);
    family.split_once("__").is_some_and(|(_, session)| session == half(b""))
}

/// The name of a plugin's sidecar of `tape`.
///
/// # Errors
///
/// [`Error::InvalidInput`] unless `sidecar` is lower-case letters, digits, `_`, `.` and `-`, with a letter or digit at
/// both ends and neither `..` nor `__`: a sidecar cannot escape its directory or its tape.
pub fn sidecar_name(tape: &str, sidecar: &str) -> Result<String> {
    let ends = |edge: Option<char>| edge.is_some_and(|edge| edge.is_ascii_alphanumeric());
    let good = sidecar.len() <= MAX_SIDECAR
        && ends(sidecar.chars().next())
        && ends(sidecar.chars().next_back())
        && sidecar.chars().all(|character| allowed(character) && !character.is_ascii_uppercase())
        && !sidecar.contains("..")
        && !sidecar.contains("__");
    if !good {
        return Err(Error::invalid(format!("`{}` cannot name a sidecar", shown(sidecar))));
    }
    let name = format!("{tape}{SIDECAR}{sidecar}");
    check_tape_name(&name)?;
    Ok(name)
}

/// The tape of a sidecar; any other tape's own name.
pub fn family(tape: &str) -> &str {
    tape.split_once(SIDECAR).map_or(tape, |(family, _)| family)
}

/// The default name for an archive of the tape made now.
pub(super) fn archive_name(tape: &str) -> String {
    format!("{tape}.jsonl.{}.bak", date::stamp())
}

/// The name, with a number inserted before the archive's ending if it is taken.
pub(super) fn free<E>(
    name: &str,
    mut is_taken: impl FnMut(&str) -> std::result::Result<bool, E>,
) -> std::result::Result<String, E> {
    let (stem, end) = name.rsplit_once(".bak").map_or((name, ""), |(stem, _)| (stem, ".bak"));
    let mut free = name.to_owned();
    let mut count = 0_u32;
    while is_taken(&free)? {
        count += 1;
        free = format!("{stem}-{count}{end}");
    }
    Ok(free)
}

/// Whether a store lists a tape of this name: a sidecar's name has `__` more than once.
pub fn is_listed(name: &str) -> bool {
    name.matches("__").count() == 1
}

/// The name of a sidecar's archive, given the name of its tape's archive.
pub(super) fn archive_beside(archive: &str, tape: &str, sidecar: &str) -> String {
    format!("{sidecar}{}", archive.strip_prefix(tape).unwrap_or(archive))
}

/// Checks that a name is valid for a tape.
///
/// # Errors
///
/// [`Error::InvalidInput`] unless it is 1 to 200 ASCII letters, digits, `_`, `.` and `-`, without a leading dot and
/// without `..`.
pub fn check_tape_name(name: &str) -> Result<()> {
    let good = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(allowed)
        && !name.starts_with(['.', '-'])
        && !name.contains("..");
    if good { Ok(()) } else { Err(Error::invalid(format!("`{}` cannot name a tape", shown(name)))) }
}

fn allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

/// The first half of the digest, in hex.
fn half(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A rejected name, for a message.
fn shown(name: &str) -> String {
    escaped(name, 64)
}
