//! Discovery of skills.

use crate::frontmatter;
use crate::roots::{Kind, Root};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The file that makes a directory a skill, and its maximum size in bytes.
const FILE: &str = "SKILL.md";
const MAX_FILE: u64 = 64 << 10;

/// Maximum number of skills.
const MAX_SKILLS: usize = 256;

/// Maximum entries of one directory, and maximum opened files in total. Each costs host calls, whose number is limited.
const MAX_ENTRIES: usize = 1024;
const MAX_OPENED: usize = 512;

/// Bytes that are read to find the front matter, in one read, because each is a host call.
const HEAD: usize = frontmatter::MAX_YAML + 64;

/// An available skill.
#[derive(Debug, Clone)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub kind: Kind,
    /// The directory, as the user knows it.
    pub shown: String,
    /// The file, as this plugin opens it.
    file: PathBuf,
}

/// A notice about skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Whether it is a warning.
    pub warns: bool,
    pub text: String,
}

impl Skill {
    /// The path of its `SKILL.md`.
    pub fn location(&self) -> String {
        format!("{}/{FILE}", self.shown)
    }

    /// Its text, without the front matter.
    ///
    /// # Errors
    ///
    /// Why the file cannot be read.
    pub fn body(&self) -> Result<String, String> {
        read(&self.file).map(|text| frontmatter::split(&text).1.trim().to_owned())
    }
}

/// The skills of those directories by name, and notices. The first one with a name takes precedence.
pub fn all(roots: &[Root]) -> (Vec<Skill>, Vec<Note>) {
    let mut found: Vec<Skill> = Vec::new();
    let mut notes = Vec::new();
    let mut opened = 0;
    for root in roots {
        for name in names(&root.path) {
            if found.len() == MAX_SKILLS || opened == MAX_OPENED {
                notes.push(warning(format!("of the skills in `{}` some are left out: there are too many", root.shown)));
                break;
            }
            opened += 1;
            match look(root, &name) {
                Ok(None) => {}
                Ok(Some(skill)) => match found.iter().find(|other| other.name == skill.name) {
                    Some(other) => notes.push(warning(format!(
                        "the skill `{}` is left out: its name is taken by `{}`",
                        skill.location(),
                        other.location()
                    ))),
                    None => found.push(skill),
                },
                Err(reason) => {
                    let text = format!("the skill `{name}` in `{}` is left out: {reason}", root.shown);
                    notes.push(Note { warns: false, text });
                }
            }
        }
    }
    if let Some(old) = found.iter().find(|skill| skill.kind == Kind::Legacy) {
        notes.push(warning(format!("`{}` lies where skills used to lie: move it to `.agents/skills`", old.shown)));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    (found, notes)
}

fn warning(text: String) -> Note {
    Note { warns: true, text }
}

/// The entries of a directory with valid names, in order; empty if it cannot be read.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().take(MAX_ENTRIES).flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink()));
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| frontmatter::is_name(name));
    names.sort();
    names
}

/// The skill in that directory; `None` without a `SKILL.md`.
fn look(root: &Root, name: &str) -> Result<Option<Skill>, String> {
    let file = root.path.join(name).join(FILE);
    // Opening a pipe would block. The host refuses a link out of the directory.
    let bytes = match fs::metadata(&file) {
        Ok(meta) if meta.len() > MAX_FILE => return Err(too_large()),
        Ok(meta) if meta.is_file() => usize::try_from(meta.len()).unwrap_or(HEAD).min(HEAD),
        Ok(_) => return Err(format!("its `{FILE}` is no file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let text = head(&file, bytes)?;
    let (name, description) = frontmatter::check(name, &frontmatter::split(&text).0)?;
    let shown = format!("{}/{name}", root.shown);
    Ok(Some(Skill { name, description, kind: root.kind, shown, file }))
}

/// The beginning of the file, up to the last complete character.
fn head(file: &Path, bytes: usize) -> Result<String, String> {
    let mut text = vec![0; bytes];
    let mut filled = 0;
    let mut file = fs::File::open(file).map_err(unreadable)?;
    while let Some(rest) = text.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest).map_err(unreadable)? {
            0 => break,
            read => filled += read,
        }
    }
    text.truncate(filled);
    if let Err(error) = std::str::from_utf8(&text)
        && error.error_len().is_none()
    {
        text.truncate(error.valid_up_to());
    }
    String::from_utf8(text).map_err(|_| no_text())
}

fn read(file: &Path) -> Result<String, String> {
    let mut text = Vec::new();
    fs::File::open(file).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut text)).map_err(unreadable)?;
    if text.len() as u64 > MAX_FILE {
        return Err(too_large());
    }
    String::from_utf8(text).map_err(|_| no_text())
}

fn too_large() -> String {
    format!("its `{FILE}` has more than {} KiB", MAX_FILE >> 10)
}

fn no_text() -> String {
    format!("its `{FILE}` is no UTF-8")
}

fn unreadable(error: std::io::Error) -> String {
    format!("its `{FILE}` cannot be read: {}", error.to_string().to_lowercase())
}
