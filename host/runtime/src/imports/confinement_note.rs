//! Whether the sandbox may be why a program failed, and what the model and the owner should know then.

use crate::host::{Confined, Unreached};

/// The end of the output that is looked at, in bytes.
const LOOKED_AT: usize = 16 << 10;

/// Files that are named.
const MAX_NAMED: usize = 5;

/// What programs write when a file was denied.
const FILES: [&str; 5] =
    ["Read-only file system", "Permission denied", "Operation not permitted", "Device or resource busy", "EROFS"];

/// What they write when there is no network.
const NETWORK: [&str; 12] = [
    "Network is unreachable",
    "Could not resolve",
    "Couldn't resolve",
    "could not resolve",
    "Temporary failure in name resolution",
    "Temporary failure resolving",
    "Name or service not known",
    "failed to lookup address",
    "getaddrinfo",
    "ENETUNREACH",
    "no such host",
    "Connection refused",
];

/// Signals that end a process which exceeds a limit, or makes a system call that is refused so.
const SIGNALS: [(i32, &str); 3] = [
    (24, "it used more CPU time than `[process.limits]` allows"),
    (25, "it wrote a larger file than `[process.limits]` allows"),
    (31, "it made a system call that is refused"),
];

/// A line for the result of a program that has ended, or none.
pub(super) fn note(confined: &Confined, code: i32, output: &str) -> Option<String> {
    let mut lines = Vec::new();
    let refused = confined.unreached.take();
    if code != 0 {
        lines.extend(refused.iter().map(|why| format!("[sandbox: {why}]")));
    }
    if let Some(reason) = reason(confined, code, output) {
        lines.push(format!(
            "[sandbox: {reason}; if it has to run outside, call again with `outside: true` and a `reason`, and the owner is asked]"
        ));
    }
    let new = confined.new_files();
    if !new.is_empty() {
        let mut names: Vec<String> = new.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
        if new.len() > MAX_NAMED {
            names.push(format!("{} more", new.len() - MAX_NAMED));
        }
        lines.push(format!("[sandbox: new files that run later, outside of the sandbox: {}]", names.join(", ")));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Why the sandbox may have made it fail.
fn reason(confined: &Confined, code: i32, output: &str) -> Option<String> {
    if code == 0 {
        return None;
    }
    let ended_by = |signal: i32| code == 128 + signal || code == -signal;
    if let Some((_, reason)) = SIGNALS.iter().find(|(signal, _)| ended_by(*signal)) {
        return Some((*reason).to_owned());
    }
    let mut from = output.len().saturating_sub(LOOKED_AT);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    let end = output.get(from..).unwrap_or_default();
    let says = |words: &[&str]| words.iter().any(|word| end.contains(word));
    if let Unreached::Offline(why) = &confined.unreached
        && says(&NETWORK)
    {
        return Some(why.clone());
    }
    let known: [(&[&str], &str); 3] = [
        (&["File too large", "File size limit exceeded"], "it wrote a larger file than `[process.limits]` allows"),
        (
            &["Resource temporarily unavailable", "fork: retry", "Cannot fork"],
            "it started more processes than `[process.limits]` allows",
        ),
        (&FILES, "it may change its workspace, its own home and `/tmp`, and read little else"),
    ];
    known.iter().find(|(words, _)| says(words)).map(|(_, reason)| (*reason).to_owned())
}
