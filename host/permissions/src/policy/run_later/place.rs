//! Which files a call names, and where their paths lead.

use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// Arguments that hold what is written, under the names that tools of files give it. Every other text may be a path.
const TEXTS: &[&str] =
    &["content", "contents", "text", "body", "data", "old", "new", "old_string", "new_string", "diff"];

/// The longest path that a system takes, in bytes.
const MAX_PATH: usize = 4096;

/// Links that are followed in one path, as Linux does.
const MAX_LINKS: usize = 40;

/// The texts among the arguments that may be paths. The host cannot know which of them a plugin opens, so it takes every
/// line of text but those that are known to be what is written; a name in front of a value counts where it looks like one.
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
                // A list or an object is looked into all the same: edits come as lists of them.
                left.extend(
                    fields.iter().filter(|(name, value)| !(is_text(name) && value.is_string())).map(|(_, value)| value),
                );
            }
            _ => {}
        }
    }
    // A plugin may pass over white space around a path.
    let is_path = |text: &&str| !text.is_empty() && text.len() <= MAX_PATH && !text.contains('\n');
    named.into_iter().map(str::trim).filter(is_path).collect()
}

/// Where that path leads from the workspace: as it is written, and with links followed, also such that lead to nothing yet,
/// because writing makes their target. Both begin where the workspace does, or are whole outside of it.
pub fn resolve(workspace: &Path, path: &str) -> [PathBuf; 2] {
    let whole = workspace.join(path);
    let inside = |path: PathBuf| path.strip_prefix(workspace).map(Path::to_path_buf).unwrap_or(path);
    [inside(plain(&whole)), inside(followed(&whole))]
}

/// Without `.` and `..`, by the letters alone.
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
