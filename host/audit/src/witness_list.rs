//! The lists of a witness: signed heads of other homes, one list for each name, which only grow.
//!
//! A witness has no keys of these homes, so it verifies no signature. It sees that each line names the line before it: what it
//! has taken once, no later delivery replaces.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::FlockOperation;

use super::digest::{NONE, line_digest};
use super::heads::{MAX_LINE, SignedHead, last_line, next_line};
use super::signed;

/// The longest list, in bytes.
pub const MAX_LIST: u64 = 64 << 20;

/// The largest part of a list that is read at once, in bytes.
pub const MAX_PART: u64 = 1 << 20;

/// The lists in a folder, which need not exist.
#[derive(Clone, Debug)]
pub struct WitnessLists {
    dir: PathBuf,
}

/// A delivery that a witness has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Lines that were new.
    pub added: u64,
    /// Bytes of the list.
    pub bytes: u64,
}

/// Why a witness does not take a delivery.
#[derive(Debug)]
pub enum NotTaken {
    /// A line is no signed head, or does not name the line before it.
    Invalid(u64),
    /// The list goes on differently.
    Forked,
    /// The list is full.
    Full,
    /// It cannot be written.
    Failed(io::Error),
}

impl From<io::Error> for NotTaken {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl WitnessLists {
    /// Those in that folder.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Appends what is new of these lines to the list of that name, which is the name of a file.
    ///
    /// # Errors
    ///
    /// They do not go on where the list ends; nothing was written.
    pub fn append(&self, name: &str, lines: &str) -> Result<Taken, NotTaken> {
        let lines: Vec<&str> = lines.lines().collect();
        let digests = follow(&lines)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let path = self.path(name);
        let mut file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from)?;
        let end = last_line(&file)?.map_or_else(|| NONE.to_owned(), |line| line_digest(&line));
        let bytes = file.metadata()?.len();
        // A list that was lost begins anew, wherever the home goes on.
        let known = match digests.iter().position(|digest| *digest == end) {
            None if bytes == 0 => 0,
            // The first one names the line before it.
            Some(before) => before,
            // A delivery that is older than the list has nothing new.
            None if holds(&file, digests.last())? => return Ok(Taken { added: 0, bytes }),
            None => return Err(NotTaken::Forked),
        };
        let new: String = lines.iter().skip(known).flat_map(|line| [line, "\n"]).collect();
        if bytes + new.len() as u64 > MAX_LIST {
            return Err(NotTaken::Full);
        }
        file.write_all(new.as_bytes())?;
        file.sync_data()?;
        Ok(Taken { added: (lines.len() - known) as u64, bytes: bytes + new.len() as u64 })
    }

    /// Whole lines of a list behind so many bytes, and the bytes of the whole list.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn read(&self, name: &str, from: u64) -> io::Result<(String, u64)> {
        let mut file = match File::open(self.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((String::new(), 0)),
            file => file?,
        };
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.min(bytes)))?;
        let mut part = Vec::new();
        file.take(MAX_PART).read_to_end(&mut part)?;
        part.truncate(part.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
        Ok((String::from_utf8_lossy(&part).into_owned(), bytes))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.jsonl"))
    }
}

/// The digest that the first line names, followed by those of all lines, each of which is named by the next.
fn follow(lines: &[&str]) -> Result<Vec<String>, NotTaken> {
    let mut digests: Vec<String> = Vec::with_capacity(lines.len() + 1);
    for (line, at) in lines.iter().zip(1..) {
        let head = Some(line).filter(|line| line.len() <= MAX_LINE).and_then(|line| signed::parse("head", line));
        let head = head.and_then(|(value, _)| serde_json::from_str::<SignedHead>(value).ok());
        let head = head.ok_or(NotTaken::Invalid(at))?;
        match digests.last() {
            None => digests.push(head.prev),
            Some(before) if *before == head.prev => {}
            Some(_) => return Err(NotTaken::Invalid(at)),
        }
        digests.push(line_digest(line));
    }
    if digests.is_empty() { Err(NotTaken::Invalid(1)) } else { Ok(digests) }
}

/// Whether a line of the list has that digest.
fn holds(file: &File, digest: Option<&String>) -> io::Result<bool> {
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    let mut lines = BufReader::new(file);
    while let Some(line) = next_line(&mut lines)? {
        if line.map(|line| line_digest(&line)).as_ref() == digest {
            return Ok(true);
        }
    }
    Ok(false)
}
