//! Invariants at the end of a run.

use std::collections::{BTreeMap, BTreeSet};

use super::format::Line;
use super::program::{SIDE, TAPE, TURN, World};

/// The content of the files when power was lost: the number of the last commit, and the lines by file.
pub type Moment = (u64, BTreeMap<usize, Vec<Line>>);

/// The lines that can be read, and whether something else stands between them.
pub fn readable(bytes: &[u8]) -> (Vec<Line>, bool) {
    let (mut found, mut gap, mut unreadable) = (Vec::new(), false, false);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if let Some(line) = Line::decode(line) {
            found.push(line);
            gap |= unreadable;
        } else {
            unreadable = true;
        }
    }
    (found, gap)
}

/// Ids grow, and each block is complete and in one piece.
pub fn blocks(lines: &[Line]) -> Result<(), &'static str> {
    let mut last: Option<&Line> = None;
    for line in lines {
        let expected = match last {
            Some(last) if last.id >= line.id => return Err("ids do not grow"),
            Some(last) if last.index < last.total => (last.commit, last.index + 1),
            _ => (line.commit, 1),
        };
        if (line.commit, line.index) != expected {
            return Err("a turn is not contiguous");
        }
        last = Some(line);
    }
    if last.is_some_and(|last| last.index < last.total) { Err("half a turn") } else { Ok(()) }
}

/// `weak` after a power loss without fsync.
pub fn judge(world: &World, weak: bool, moments: &[Moment]) -> Result<(), &'static str> {
    let mut all: Vec<Line> = Vec::new();
    for name in world.disk.names().filter(|name| name.starts_with(TAPE) || name.starts_with(SIDE)) {
        let file = world.disk.lookup(name).unwrap();
        let bytes = world.disk.bytes(file);
        let (lines, gap) = readable(bytes);
        // An archive keeps the torn end that another program or a power loss left.
        let archive = name.contains('.');
        if gap
            || (!archive && bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() != lines.len())
        {
            return Err("a torn or glued line");
        }
        if !archive && !bytes.is_empty() && !bytes.ends_with(b"\n") {
            return Err("a last line without its newline");
        }
        if !weak {
            blocks(&lines)?;
        } else if lines.windows(2).any(|two| two[0].id >= two[1].id) {
            return Err("ids do not grow");
        }
        for (commits, files) in moments.iter().filter(|_| weak) {
            let Some(before) = files.get(&file) else { continue };
            // A block that was taken back may be there again: no write of it was acknowledged.
            let stood = |line: &&Line| line.commit <= *commits && before.iter().any(|old| old.commit == line.commit);
            let left: Vec<_> = lines.iter().filter(stood).collect();
            if left.len() > before.len() || left.iter().zip(before).any(|(left, before)| *left != before) {
                return Err("lost in the middle");
            }
        }
        all.extend(lines);
    }
    if !world.disk.lookup(TURN).is_some_and(|file| world.disk.bytes(file).is_empty()) {
        return Err("a journal is left");
    }
    if weak {
        return Ok(());
    }
    let tokens: BTreeSet<_> = all.iter().map(|line| line.token).collect();
    if tokens.len() < all.len() {
        return Err("an entry is there twice");
    }
    if !world.acknowledged.iter().all(|token| tokens.contains(token) || world.removed.contains(token)) {
        return Err("an acknowledged entry is lost");
    }
    let mut commits: BTreeMap<u64, u64> = BTreeMap::new();
    let mut files: BTreeMap<u64, u64> = BTreeMap::new();
    let removed: BTreeSet<_> = world.removed.iter().map(|token| token.0).collect();
    for line in all.iter().filter(|line| !removed.contains(&line.token.0)) {
        if *commits.entry(line.token.0).or_insert(line.commit) != line.commit {
            return Err("a turn is not contiguous");
        }
        *files.entry(line.commit).or_default() += u64::from(line.index == 1);
    }
    if all.iter().any(|line| files.get(&line.commit).is_some_and(|count| *count != line.files)) {
        return Err("a tape without its sidecar");
    }
    Ok(())
}
