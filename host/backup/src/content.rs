//! Which files of a home a backup holds.

use anyhow::{Context, Result};
use bub_types::text::one_line;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Files of the home that are kept as they are.
const FILES: &[&str] = &[
    "config.toml",
    "version",
    "plugins.lock",
    // Where the guide puts the root of keyless signatures.
    "trusted_root.json",
    "update.json",
    "quarantine/breakers.json",
    "audit/keys.jsonl",
    "audit/heads.jsonl",
];

/// Directories that are kept with all files in them.
const DIRECTORIES: &[&str] = &["plugins", "mcp", "sessions", "usage", "history", "recordings"];

/// Files with secrets.
const SECRETS: &[&str] = &[".env", "secrets.toml", "serve.token", "audit/key"];

/// Ends the names of files that belong to a process.
const OF_PROCESSES: &[&str] = &[".lock", ".new"];

/// The deepest folder that is looked into.
const MAX_DEPTH: usize = 8;

/// The longest file that is read at once, in bytes. Tapes are not read at once.
const MAX_FILE: u64 = 1 << 30;

/// A file of the home: its path there, and its content.
pub(crate) type Content = (String, Vec<u8>);

/// The paths of files that are kept as they are and exist, in order.
pub(crate) fn plain(home: &Path) -> Result<Vec<String>> {
    let mut paths: Vec<String> =
        FILES.iter().filter(|path| is_file(&home.join(path))).map(|path| (*path).into()).collect();
    for directory in DIRECTORIES {
        list(home, directory, 0, &mut paths)?;
    }
    paths.sort_unstable();
    Ok(paths)
}

/// The files with secrets that exist.
pub(crate) fn secrets(home: &Path) -> Result<Vec<Content>> {
    let mut found = Vec::new();
    for path in SECRETS.iter().filter(|path| is_file(&home.join(path))) {
        if let Some(content) = read(home, path)? {
            found.push(((*path).to_owned(), content));
        }
    }
    Ok(found)
}

/// Whether a file with secrets has that path in the home.
pub(crate) fn is_secret(path: &str) -> bool {
    SECRETS.contains(&path)
}

/// The content of a file of the home; none if it is gone. Of a file that is being appended to, the whole lines.
pub(crate) fn read(home: &Path, path: &str) -> Result<Option<Vec<u8>>> {
    let wrong = || format!("`{}` cannot be read", one_line(&home.join(path).display().to_string()));
    let about = match fs::metadata(home.join(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        about => about.with_context(wrong)?,
    };
    anyhow::ensure!(about.len() <= MAX_FILE, "{}: it is longer than a GiB", wrong());
    let mut content = match fs::read(home.join(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        content => content.with_context(wrong)?,
    };
    if path.ends_with(".jsonl") {
        let end = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        content.truncate(end);
    }
    Ok(Some(content))
}

fn list(home: &Path, directory: &str, depth: usize, paths: &mut Vec<String>) -> Result<()> {
    let wrong = || format!("`{}` cannot be listed", one_line(&home.join(directory).display().to_string()));
    let listed = match fs::read_dir(home.join(directory)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        listed => listed.with_context(wrong)?,
    };
    for found in listed {
        let found = found.with_context(wrong)?;
        // A name that is no text is none of the program's.
        let Ok(name) = found.file_name().into_string() else { continue };
        let path = format!("{directory}/{name}");
        if OF_PROCESSES.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let kind = found.file_type().with_context(wrong)?;
        if kind.is_dir() && depth < MAX_DEPTH {
            list(home, &path, depth + 1, paths)?;
        } else if is_file(&home.join(&path)) {
            // A link to a plugin is kept as the plugin.
            paths.push(path);
        }
    }
    Ok(())
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file())
}
