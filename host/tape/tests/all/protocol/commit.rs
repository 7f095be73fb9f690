//! Commits: all files of a batch or none, and once for a key.

use super::format::{Block, Line, Slot, checksum};
use super::program::{Batch, LOCK, NoSpace, Part, Program, SIDE, TAPE};

impl Program {
    /// Writes a batch to the tape and its sidecar, both or none, and once for a key that is not zero.
    pub async fn commit(&self, key: u64, batch: &Batch) -> Result<(), NoSpace> {
        self.lock(LOCK).await;
        let result = self.commit_locked(key, batch).await;
        self.unlock(LOCK).await;
        result
    }

    async fn commit_locked(&self, key: u64, batch: &Batch) -> Result<(), NoSpace> {
        let slot_file = self.slot_file().await;
        let mut slot = self.recover(slot_file).await;
        if key != 0 && slot.merged == key && self.has(Part::MergedKey) {
            return Ok(());
        }
        if let Some(archive) = batch.reset {
            self.take_away(slot_file, archive).await;
        }
        let commit = self.step("begin commit", |world| {
            world.counter += 1;
            world.counter
        });
        let commit = commit.await;
        let mut blocks = Vec::new();
        let all = [(SIDE, &batch.side), (TAPE, &batch.tape)];
        let files = all.iter().filter(|(_, tokens)| !tokens.is_empty()).count() as u64;
        for (name, tokens) in all.into_iter().filter(|(_, tokens)| !tokens.is_empty()) {
            let file = self.open(name).await;
            let (offset, last, newline) = self.end(name, file, slot.seq).await;
            let total = tokens.len() as u64;
            let mut text = String::from(if newline { "\n" } else { "" });
            for (token, index) in tokens.iter().zip(1..) {
                let line = Line { id: last + index, token: *token, commit, index, total, files };
                text += &line.encode();
                text += "\n";
            }
            blocks.push((name, file, offset, text.into_bytes(), last + total));
        }
        let before = slot.clone();
        let number = |file| self.world.borrow().disk.number(file);
        let part = |(name, _, offset, block, _): &(&'static str, usize, usize, Vec<u8>, u64)| Block {
            name: (*name).to_owned(),
            offset: *offset,
            length: block.len(),
            sum: checksum(block),
        };
        slot.pending = Some((key, blocks.iter().map(part).collect()));
        self.write_slot(slot_file, &mut slot).await;
        for (name, file, offset, block, _) in &blocks {
            if self.write(name, *file, *offset, block, true).await.is_err() {
                for (name, file, offset, ..) in &blocks {
                    self.truncate(name, *file, *offset).await;
                    if self.has(Part::SyncRecovered) {
                        self.sync(name, *file).await;
                    }
                }
                slot = Slot { seq: slot.seq, ..before };
                self.write_slot(slot_file, &mut slot).await;
                return Err(NoSpace);
            }
        }
        for (name, file, ..) in &blocks {
            self.sync(name, *file).await;
        }
        if blocks.iter().any(|(_, _, offset, ..)| *offset == 0) {
            self.sync_names().await;
        }
        slot.pending = None;
        if key != 0 {
            slot.merged = key;
        }
        self.write_slot(slot_file, &mut slot).await;
        for (name, file, offset, block, last) in blocks {
            self.ends.borrow_mut().insert(name, (number(file), offset + block.len(), slot.seq, last));
        }
        Ok(())
    }

    async fn take_away(&self, slot_file: usize, archive: bool) {
        // In both modes: a slot from before the power loss must not speak of the new tape.
        self.step("sync slot", |world| world.disk.sync(slot_file)).await;
        for name in [TAPE, SIDE] {
            self.step(&format!("take away {name}"), |world| {
                let Some(file) = world.disk.lookup(name) else {
                    return;
                };
                if world.disk.bytes(file).is_empty() && archive {
                    return;
                }
                if archive {
                    world.counter += 1;
                    let target = format!("{name}.{}", world.counter);
                    world.disk.rename(name, Some(&target));
                } else {
                    let lines = world.disk.bytes(file).split(|byte| *byte == b'\n');
                    let tokens: Vec<_> = lines.filter_map(Line::decode).map(|line| line.token).collect();
                    world.removed.extend(tokens);
                    world.disk.rename(name, None);
                }
            })
            .await;
        }
        self.sync_dir().await;
    }

    /// Where the next block goes and the last id before it, after half a line at the end was set aside; and whether the
    /// block has to begin with a newline.
    async fn end(&self, name: &'static str, file: usize, seq: u64) -> (usize, u64, bool) {
        let bytes = self.bytes(file).await;
        let number = self.world.borrow().disk.number(file);
        let remembered = self.ends.borrow().get(name).copied();
        if let Some((of, length, at, last)) = remembered {
            let fits = of == number && length == bytes.len() && at == seq;
            if fits || !self.has(Part::EndChecked) {
                return (bytes.len(), last, false);
            }
        }
        let mut end = 0;
        let mut last = 0;
        let mut start = 0;
        let mut newline = false;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            start += line.len();
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            if let Some(line) = Line::decode(text) {
                end = start;
                last = line.id;
                newline = start == bytes.len() && !bytes.ends_with(b"\n");
            }
        }
        if !self.has(Part::TailRule) {
            return (bytes.len(), last, false);
        }
        if end < bytes.len() {
            self.truncate(name, file, end).await;
        }
        if newline && !self.has(Part::NewlineInBlock) {
            let _written = self.write(name, file, end, b"\n", false).await;
            end += 1;
            newline = false;
        }
        (end, last, newline)
    }
}
