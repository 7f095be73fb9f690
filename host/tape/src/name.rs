//! Names of tapes. A name becomes a file's name, so what may be in one is decided here and nowhere else.

use bub_types::text::escaped;
use std::path::Path;

use md5::{Digest, Md5};

use super::date;
use super::error::{Error, Result};

/// Leaves room for what is put behind a name within the 255 bytes of a file's name.
const MAX_NAME: usize = 200;
const MAX_SIDECAR: usize = 64;

/// Separates a tape's name from its sidecar's.
pub(super) const SIDECAR: &str = "__sidecar__";

/// The tape of a session in a workspace, whose path must be absolute and resolved: two repositories do not share a
/// session by accident.
pub fn tape_name(workspace: &Path, session: &str) -> String {
    let workspace = workspace.as_os_str().as_encoded_bytes();
    format!("{}__{}", half(workspace), half(session.as_bytes()))
}

/// The tape that all sessions of a workspace share. It is that of no session: a channel's session ids hold a colon, and
/// the user's own are not empty.
pub fn workspace_tape_name(workspace: &Path) -> String {
    tape_name(workspace, "")
}

/// Whether that is the tape that all sessions of a workspace share, whichever workspace it is, or an archive or sidecar of
/// it.
pub fn is_workspace_tape(name: &str) -> bool {
    let family = name.split_once(SIDECAR).map_or(name, |(family, _)| family);
    let family = family.split_once('.').map_or(family, |(family, _)| family);
    family.split_once("__").is_some_and(|(_, session)| session == half(b""))
}

/// The tape that a plugin keeps beside `tape`.
///
/// # Errors
///
/// [`Error::InvalidInput`] unless `sidecar` is lower-case letters, digits, `_`, `.` and `-`, with a letter or digit at
/// both ends and neither `..` nor `__` in it: a plugin's name leaves neither the directory nor its own tape.
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

/// The tape of a sidecar; any other tape itself.
pub(super) fn family(tape: &str) -> &str {
    tape.split_once(SIDECAR).map_or(tape, |(family, _)| family)
}

/// What an archive of the tape that is made now is called, where the name is free.
pub(super) fn archive_name(tape: &str) -> String {
    format!("{tape}.jsonl.{}.bak", date::stamp())
}

/// The name, or where it is taken the same with a number, in front of an archive's ending.
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

/// Whether a tape of this name is among those that a store lists: a sidecar's name has `__` more than once.
pub fn is_listed(name: &str) -> bool {
    name.matches("__").count() == 1
}

/// What the archive of a sidecar is called when that of its tape is called `archive`.
pub(super) fn archive_beside(archive: &str, tape: &str, sidecar: &str) -> String {
    format!("{sidecar}{}", archive.strip_prefix(tape).unwrap_or(archive))
}

/// Whether a store may keep a tape of this name.
///
/// # Errors
///
/// [`Error::InvalidInput`] unless it is 1 to 200 ASCII letters, digits, `_`, `.` and `-`, without a dot in front and
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

/// A name that was refused, for a message.
fn shown(name: &str) -> String {
    escaped(name, 64)
}
