//! The process that holds a lease, as a column.

use std::sync::OnceLock;

use bub_tape::Holder;

/// This process: its number, and the name of its machine.
pub(super) fn encode() -> Vec<u8> {
    format!("{} {}", std::process::id(), machine()).into_bytes()
}

/// `None`: another program wrote it.
pub(super) fn decode(bytes: &[u8]) -> Option<Holder> {
    let (pid, host) = str::from_utf8(bytes).ok()?.split_once(' ')?;
    let host =
        (host != machine()).then(|| if host.is_empty() { "another machine".to_owned() } else { host.to_owned() });
    Some(Holder { pid: pid.parse().ok()?, host })
}

/// The name of this machine; empty: it is not known.
fn machine() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().chars().take(255).collect()
    })
}
