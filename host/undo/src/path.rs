//! Paths of a workspace, whatever bytes are in them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path relative to the workspace, without `.` and `..`. Ordered so that a directory comes before what it holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(Vec<u8>);

impl WorkspacePath {
    /// The path, if it is a relative one that leads nowhere else.
    pub fn new(path: &Path) -> Option<Self> {
        let bytes = path.as_os_str().as_bytes();
        let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        let is_inside = !bytes.is_empty() && !bytes.contains(&0) && bytes.split(|byte| *byte == b'/').all(is_name);
        is_inside.then(|| Self(bytes.to_owned()))
    }

    /// For the system.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// For people: bytes that are no text are replaced. Control characters are still there.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn depth(&self) -> usize {
        self.0.iter().filter(|byte| **byte == b'/').count()
    }

    /// Whether a file of that name decides which files are ignored.
    pub(crate) fn is_ignore_file(&self) -> bool {
        matches!(self.0.rsplit(|byte| *byte == b'/').next(), Some(b".gitignore" | b".ignore"))
    }
}

impl Serialize for WorkspacePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for WorkspacePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = decode(&String::deserialize(deserializer)?);
        let path = bytes.and_then(|bytes| Self::new(Path::new(OsStr::from_bytes(&bytes))));
        path.ok_or_else(|| serde::de::Error::custom("not the path of a file in a workspace"))
    }
}

/// Bytes as text: those that are no text, and `%`, as `%XX`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '%' {
                text.push_str("%25");
            } else {
                text.push(character);
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
    }
    text
}

/// The bytes that were encoded so.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%' {
            let (digits, tail) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(*first);
        }
    }
    Some(bytes)
}
