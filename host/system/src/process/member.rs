//! Members of a process group, as listed in `/proc`. Systems other than Linux do not list them.

use std::fs;
use std::io;

/// Result of a search for a live member.
pub(super) enum Search {
    /// This process is alive and a member.
    One(i32),
    /// No live process is a member.
    None,
    /// There is no `/proc`.
    Unknown,
}

/// Searches all processes for a live one of that group.
pub(super) fn find(group: i32) -> Search {
    let Ok(entries) = fs::read_dir("/proc") else { return Search::Unknown };
    // `/proc` must list at least this process.
    let mut known = false;
    for entry in entries.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        match is_alive(id, group) {
            Some(true) => return Search::One(id),
            Some(false) => known = true,
            None => {}
        }
    }
    if known { Search::None } else { Search::Unknown }
}

/// Whether the process `id` is alive and of that group. `None` if that cannot be read.
pub(super) fn is_alive(id: i32, group: i32) -> Option<bool> {
    match fs::read(format!("/proc/{id}/stat")) {
        Ok(stat) => parse_is_alive(&stat, group),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // The process ended while it was being read.
        Err(_) => Some(false),
    }
}

/// Parses `1 (any name) S 0 7 ...`: id, name, state, parent, group.
fn parse_is_alive(stat: &[u8], group: i32) -> Option<bool> {
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = str::from_utf8(stat.get(name_ends + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let of: i32 = fields.nth(1)?.parse().ok()?;
    Some(of == group && !["Z", "X"].contains(&state))
}
