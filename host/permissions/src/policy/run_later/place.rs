//! Paths in a call's arguments, and their resolution.

use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Names of arguments that contain file content in file tools. Any other text may be a path.
const TEXTS: &[&str] =
    &["content", "contents", "text", "body", "data", "old", "new", "old_string", "new_string", "diff"];

/// Maximum length of a path, in bytes.
const MAX_PATH: usize = 4096;

/// Maximum symbolic links in one path, as in Linux.
const MAX_LINKS: usize = 40;

/// The texts among the arguments that may be paths. The host does not know which of them a plugin opens, so it includes
/// every line except known file content; keys are included if they look like paths.
pub fn named(arguments: &Value) -> Vec<&str> {
    let mut named = Vec::new();
    let mut left = vec![arguments];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => named.push(text.as_str()),
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => {
                let is_text = |name: &str| TEXTS.iter().any(|text| name.eq_ignore_ascii_case(text));
                named.extend(fields.keys().map(String::as_str).filter(|name| name.contains(['.', '/'])));
                // Lists and objects are searched anyway: edits are lists of objects.
                left.extend(
                    fields.iter().filter(|(name, value)| !(is_text(name) && value.is_string())).map(|(_, value)| value),
                );
            }
            _ => {}
        }
    }
    // A plugin may trim white space around a path.
    let is_path = |text: &&str| !text.is_empty() && text.len() <= MAX_PATH && !text.contains('\n');
    named.into_iter().map(str::trim).filter(is_path).collect()
}

/// Where the path leads from the workspace: as written, and with links followed, including dangling ones, whose target
/// a write would create. Relative to the workspace, or absolute outside of it.
pub fn resolve(workspace: &Path, path: &str) -> [PathBuf; 2] {
    let whole = workspace.join(path);
    let inside = |path: PathBuf| path.strip_prefix(workspace).map(Path::to_path_buf).unwrap_or(path);
    [inside(plain(&whole)), inside(followed(&whole))]
}

/// Removes `.` and `..` lexically.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

fn followed(path: &Path) -> PathBuf {
    let own = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut found, mut left, mut links) = (PathBuf::new(), own(path), 0);
    while let Some(part) = left.pop() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => drop(found.pop()),
            Some(Component::CurDir) | None => {}
            _ => {
                let next = found.join(&part);
                match std::fs::read_link(&next) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        left.extend(own(&target));
                    }
                    _ => found = next,
                }
            }
        }
    }
    found
}
