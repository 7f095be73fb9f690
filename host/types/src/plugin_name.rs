//! Names of plugins: their syntax, and the reserved ones.
//!
//! Names are typed in commands, used in `config.toml`, and identify a plugin's sidecars and folders. So they have no
//! look-alike characters, no upper case, and no dot, which separates the plugin's name from the sidecar's.

use crate::text::one_line;
use anyhow::{Result, bail};

/// Maximum length in bytes: the name is part of the names of tapes and folders.
const MAX_NAME: usize = 64;

/// The sidecar that long tool results are spilled to.
pub const SPILL: &str = "spill";

/// The name for a selection without a plugin: the conversation of this turn alone.
pub const SIMPLE: &str = "simple";

/// The name for the selection of a whole window, the fallback when a selector fails.
pub const EVERYTHING: &str = "everything";

/// Reserved names, and their meaning.
const RESERVED: [(&str, &str); 3] = [
    (SPILL, "the sidecar of long tool results"),
    (SIMPLE, "the selection without a plugin"),
    (EVERYTHING, "the selection of a whole window"),
];

/// Checks the syntax of a plugin's name, and that it is not reserved.
///
/// # Errors
///
/// The name is invalid. The error describes the problem; the caller adds the remedy.
pub fn check_name(name: &str) -> Result<()> {
    let what = match name.chars().find(|character| !is_plain(*character)) {
        // It would be invisible between the backticks.
        Some(other) if other.is_whitespace() || other.is_control() => {
            format!("U+{:04X} is none of them", u32::from(other))
        }
        Some(other) => format!("`{}` (U+{:04X}) is none of them", one_line(&other.to_string()), u32::from(other)),
        None if name.is_empty() => "it is empty".to_owned(),
        None if name.len() > MAX_NAME => format!("it has {}", name.len()),
        None if !name.starts_with(|first: char| first.is_ascii_alphanumeric()) => {
            format!("it begins with `{}`", &name[..1])
        }
        None => return check_reserved(name),
    };
    bail!(
        "a plugin's name has at most {MAX_NAME} lower-case ASCII letters, digits, `-` and `_`, a letter or a digit first: {what}"
    );
}

fn is_plain(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '_')
}

fn check_reserved(name: &str) -> Result<()> {
    match RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        Some((_, what)) => bail!("the name is reserved: the host calls {what} by it"),
        None => Ok(()),
    }
}
