//! A command, as its plugin described it: `bub-wasm NAME` runs it.

use anyhow::{Result, bail};
use bub_types::text::one_line;

/// Commands that one plugin may have.
const MAX_COMMANDS: usize = 64;

/// The longest name of a command, in bytes.
const MAX_NAME: usize = 64;

/// Names that no command of a plugin may have: commands of the program, those that it is going to have, and words that
/// users take for one.
const RESERVED: [&str; 33] = [
    "acp",
    "audit",
    "backup",
    "blame",
    "chat",
    "compile-guests",
    "compile-plugin",
    "completions",
    "doctor",
    "forget-person",
    "gateway",
    "help",
    "home",
    "hooks",
    "init",
    "man",
    "mcp",
    "open",
    "plugin",
    "reference",
    "replay",
    "run",
    "schedule",
    "secret",
    "self",
    "serve",
    "sessions",
    "store",
    "tape",
    "trust",
    "undo",
    "usage",
    "why",
];

/// A command of a plugin.
pub struct Command {
    /// The word behind `bub-wasm`: small letters, digits and hyphens, a letter first.
    pub name: String,
    /// The description, on one line.
    pub about: String,
}

/// The commands that a plugin lists: the name of each, and what it does.
///
/// # Errors
///
/// There are too many, two have one name, or a name is invalid or reserved.
pub(super) fn accept(listed: Vec<(String, String)>) -> Result<Vec<Command>> {
    if listed.len() > MAX_COMMANDS {
        bail!("it has {} commands; at most {MAX_COMMANDS} are taken", listed.len());
    }
    let mut commands: Vec<Command> = Vec::new();
    for (name, about) in listed {
        if !is_name(&name) {
            let shown = bub_types::text::escaped(&name, MAX_NAME);
            bail!(
                "its command `{shown}` has no name of at most {MAX_NAME} small letters, digits and hyphens, a letter first"
            );
        }
        if RESERVED.contains(&name.as_str()) {
            bail!("its command `{name}` has a reserved name: bub-wasm keeps it for a command of its own");
        }
        if commands.iter().any(|other| other.name == name) {
            bail!("it has two commands `{name}`");
        }
        commands.push(Command { name, about: one_line(&about) });
    }
    Ok(commands)
}

fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= MAX_NAME && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_letter)
}
