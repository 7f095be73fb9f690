//! The slot: the pending commit, and the key that was merged last.

use super::format::{PLACE, Slot, checksum};
use super::program::{LOCK, Part, Program, TURN};

impl Program {
    pub async fn slot_file(&self) -> usize {
        let file = self.open(LOCK).await;
        if !self.dir_synced.replace(true) {
            self.open(TURN).await;
            self.sync_names().await;
        }
        file
    }

    pub async fn places(&self, file: usize) -> [Vec<u8>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        for (index, place) in found.iter_mut().enumerate() {
            let bytes = self.bytes(file).await;
            let start = (index * PLACE).min(bytes.len());
            let end = (start + PLACE).min(bytes.len());
            *place = bytes[start..end].to_vec();
        }
        found
    }

    pub fn newest(places: &[Vec<u8>; 2]) -> Slot {
        let slots = places.iter().filter_map(|place| Slot::decode(place));
        slots.max_by_key(|slot| slot.seq).unwrap_or_default()
    }

    pub async fn write_slot(&self, file: usize, slot: &mut Slot) {
        slot.seq += 1;
        if self.has(Part::Slot) {
            let place = if self.has(Part::SecondPlace) { slot.seq as usize % 2 * PLACE } else { 0 };
            let _written = self.write(LOCK, file, place, &slot.encode(), false).await;
            self.sync(LOCK, file).await;
            self.own_seq.set(slot.seq);
        }
    }

    /// Under the append lock: finishes or takes back what a program that ended had begun.
    pub async fn recover(&self, file: usize) -> Slot {
        let mut slot = Self::newest(&self.places(file).await);
        if self.has(Part::SyncFoundSlot) && slot.seq != self.own_seq.get() {
            self.sync(LOCK, file).await;
        }
        let Some((key, pending)) = slot.pending.take() else {
            return slot;
        };
        let mut found = Vec::new();
        for part in pending {
            if let Some(file) = self.step("lookup", |world| world.disk.lookup(&part.name)).await {
                let bytes = self.bytes(file).await;
                let block = bytes.get(part.offset..part.offset + part.length);
                let good = block.is_some_and(|block| checksum(block) == part.sum);
                found.push((Some(file), good, part, bytes.len()));
            } else {
                found.push((None, false, part, 0));
            }
        }
        let keep = !self.has(Part::Checksum) || found.iter().all(|(_, good, ..)| *good);
        for (file, _, part, length) in &found {
            if let Some(file) = *file {
                if !keep && *length > part.offset {
                    self.truncate(&part.name, file, part.offset).await;
                }
                if self.has(Part::SyncRecovered) {
                    self.sync(&part.name, file).await;
                }
            }
        }
        if keep && self.has(Part::SyncRecovered) && found.iter().any(|(_, _, part, _)| part.offset == 0) {
            self.sync_names().await;
        }
        if keep && key != 0 {
            slot.merged = key;
        }
        self.write_slot(file, &mut slot).await;
        slot
    }
}
