//! Signed heads of chains: lines that only grow, each of which names the line before it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::digest::{NONE, line_digest};
use super::fault::{Fault, FaultKind, Place};
use super::keys::{AuditFolder, Keys};
use super::layer::{Head, HeadKeeper};
use super::signed;

/// The signed heads.
pub const HEADS: &str = "heads.jsonl";

/// The longest line of a head; a longer one is none of this program's.
pub(crate) const MAX_LINE: usize = 4096;

/// A signed head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHead {
    /// The tape.
    pub tape: String,
    /// The id of the chain.
    pub chain: String,
    /// The last record.
    pub seq: u64,
    /// Its digest.
    pub hash: String,
    /// When it was signed.
    pub at: String,
    /// The id of the key.
    pub key: String,
    /// The digest of the line before, or zeros.
    pub prev: String,
}

/// The heads of a home as they were read, up to the first line that is wrong.
#[derive(Clone, Debug, Default)]
pub struct HeadLog {
    /// In the order in which they were signed.
    pub heads: Vec<SignedHead>,
    /// The digest of each line.
    pub digests: Vec<String>,
    /// What is wrong with the lines.
    pub faults: Vec<Fault>,
}

impl HeadLog {
    /// The heads of a tape.
    pub fn of(&self, tape: &str) -> Vec<SignedHead> {
        self.heads.iter().filter(|head| head.tape == tape).cloned().collect()
    }
}

/// A line with what it says.
struct Line {
    head: SignedHead,
    digest: String,
    is_signed: bool,
}

impl AuditFolder {
    /// Signs a head, and appends it to the list. Returns its line.
    ///
    /// # Errors
    ///
    /// The folder cannot be written, or the key not be read.
    pub fn sign(&self, head: &Head) -> io::Result<String> {
        let lock = self.lock()?;
        let (key, id) = self.signer(&lock)?;
        let path = self.dir.join(HEADS);
        let mut file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
        let signed = SignedHead {
            tape: head.tape.clone(),
            chain: head.chain.clone(),
            seq: head.seq,
            hash: head.hash.clone(),
            at: bub_tape::now(),
            key: id,
            prev: last_line(&file)?.map_or_else(|| NONE.to_owned(), |line| line_digest(&line)),
        };
        let line = signed::line("head", &serde_json::to_string(&signed)?, &key);
        file.write_all(format!("{line}\n").as_bytes())?;
        Ok(line)
    }

    /// Reads and verifies the signed heads.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub fn heads(&self, keys: &Keys) -> io::Result<HeadLog> {
        let file = match File::open(self.dir.join(HEADS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HeadLog::default()),
            file => file?,
        };
        read(BufReader::new(file), keys)
    }
}

/// Reads lines of heads: each follows the one before it, so the signature of the last one stands for all.
fn read(mut lines: impl BufRead, keys: &Keys) -> io::Result<HeadLog> {
    let mut log = HeadLog::default();
    let mut before: Option<Line> = None;
    let mut newest_key = 0;
    for at in 1.. {
        let Some(text) = next_line(&mut lines)? else { break };
        let fault = |at, kind, why: &str| Fault::new(Place::Head(at), kind, why);
        let Some((line, key)) = text.as_deref().and_then(|text| parse(text, keys)) else {
            log.faults.push(fault(at, FaultKind::Changed, ""));
            return Ok(log);
        };
        let prev = before.as_ref().map_or(NONE, |before| before.digest.as_str());
        if line.head.prev != prev {
            // Which of the two is wrong is told by their signatures.
            let is_before_signed = before.as_ref().is_none_or(|before| before.is_signed);
            let (at, kind) = match (line.is_signed, is_before_signed) {
                (false, _) => (at, FaultKind::Changed),
                (true, false) => (at - 1, FaultKind::Changed),
                (true, true) if log.digests.contains(&line.head.prev) => (at, FaultKind::Inserted),
                (true, true) => (at, FaultKind::Removed),
            };
            log.faults.push(fault(at, kind, "it does not follow the line before it"));
            return Ok(log);
        }
        if key < newest_key {
            log.faults.push(fault(at, FaultKind::Inserted, "its key was replaced before"));
            return Ok(log);
        }
        newest_key = key;
        log.heads.push(line.head.clone());
        log.digests.push(line.digest.clone());
        before = Some(line);
    }
    if let Some(last) = before.filter(|last| !last.is_signed) {
        let at = log.heads.len() as u64;
        log.faults.push(Fault::new(Place::Head(at), FaultKind::Changed, "its signature is wrong"));
        log.heads.retain(|head| *head != last.head);
        log.digests.truncate(log.heads.len());
    }
    Ok(log)
}

/// A line, and the place of its key in the list of keys.
fn parse(text: &str, keys: &Keys) -> Option<(Line, usize)> {
    let (value, signature) = signed::parse("head", text)?;
    let head: SignedHead = serde_json::from_str(value).ok()?;
    let (at, key) = keys.of(&head.key)?;
    let is_signed = signed::is_signed("head", value, &signature, &key.bytes());
    Some((Line { head, digest: line_digest(text), is_signed }, at))
}

/// The next line without its end; `Some(None)`: it is too long, or no text.
pub(crate) fn next_line(lines: &mut impl BufRead) -> io::Result<Option<Option<String>>> {
    let mut bytes = Vec::new();
    let limit = MAX_LINE as u64 + 1;
    io::Read::take(lines, limit).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let is_whole = bytes.pop_if(|byte| *byte == b'\n').is_some();
    Ok(Some(String::from_utf8(bytes).ok().filter(|_| is_whole)))
}

/// The last whole line. The part of a line behind it, which a crash left, is removed.
pub(crate) fn last_line(file: &File) -> io::Result<Option<String>> {
    let mut length = file.metadata()?.len();
    let start = length.saturating_sub(2 * MAX_LINE as u64);
    let mut bytes = vec![0; usize::try_from(length - start).unwrap_or_default()];
    file.read_exact_at(&mut bytes, start)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole < bytes.len() {
        length = start + whole as u64;
        file.set_len(length)?;
    }
    bytes.truncate(whole);
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().next_back().map(str::to_owned))
}

/// Compares the list of a witness with the heads of a home: a witness has seen what the home must still have. A line that no
/// key of the home has signed says nothing of the home, but that the list is not the home's.
///
/// # Errors
///
/// The list cannot be read.
pub fn check_witness(
    lines: impl BufRead,
    log: &HeadLog,
    keys: &Keys,
) -> io::Result<(HashMap<String, SignedHead>, Vec<Fault>)> {
    let mut lines = lines;
    let known: HashMap<&str, &SignedHead> = log.digests.iter().map(String::as_str).zip(&log.heads).collect();
    let (mut witnessed, mut faults) = (HashMap::new(), Vec::new());
    for at in 1.. {
        let Some(text) = next_line(&mut lines)? else { break };
        match text.as_deref().and_then(|text| known.get(line_digest(text).as_str())) {
            Some(head) => {
                witnessed.insert(head.tape.clone(), (*head).clone());
            }
            None => {
                let is_ours = text.and_then(|text| parse(&text, keys)).is_some_and(|(line, _)| line.is_signed);
                let (kind, why) = match is_ours {
                    true => (FaultKind::CutOff, "the signed heads do not have it"),
                    false => (FaultKind::Changed, "no key of this home has signed it"),
                };
                faults.push(Fault::new(Place::Witness(at), kind, why));
                break;
            }
        }
    }
    Ok((witnessed, faults))
}

/// Signs each head that it is told of.
pub struct Signing {
    folder: AuditFolder,
    has_failed: AtomicBool,
}

impl Signing {
    /// Signs in that folder.
    pub fn new(folder: AuditFolder) -> Self {
        Self { folder, has_failed: AtomicBool::new(false) }
    }
}

impl HeadKeeper for Signing {
    fn keep(&self, head: &Head) {
        if let Err(error) = self.folder.sign(head)
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("the ends of turns are not signed: {error}");
        }
    }
}
