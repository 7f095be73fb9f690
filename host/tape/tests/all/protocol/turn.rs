//! A program's use of commits: turns with their journal, appends, resets; and reading.

use super::format::{checksum, whole_lines};
use super::program::{Batch, LOCK, NoSpace, Part, Program, SIDE, TAPE, TURN, Token};

impl Program {
    async fn record(&self, file: usize, text: &str) -> Result<(), NoSpace> {
        let record = format!("{:x} {text}\n", checksum(text.as_bytes()));
        let end = self.bytes(file).await.len();
        let result = self.write(TURN, file, end, record.as_bytes(), true).await;
        if result.is_err() {
            if self.has(Part::TornRecordCut) {
                self.truncate(TURN, file, end).await;
            }
        } else {
            self.sync(TURN, file).await;
        }
        result
    }

    fn acknowledge(&self, token: Token) {
        self.world.borrow_mut().acknowledged.insert(token);
    }

    /// Under the turn lock: merges what a turn that ended early had written to its journal.
    pub async fn recover_turn(&self, journal: usize) -> Result<(), NoSpace> {
        let bytes = self.bytes(journal).await;
        if bytes.is_empty() {
            return Ok(());
        }
        let mut key = 0;
        let mut batch = Batch::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = std::str::from_utf8(line).ok().and_then(|line| line.strip_suffix('\n')?.split_once(' '));
            let Some((sum, text)) = text else { break };
            if u64::from_str_radix(sum, 16) != Ok(checksum(text.as_bytes())) {
                break;
            }
            let words: Vec<_> = text.split(' ').collect();
            match words[..] {
                ["header", turn] => key = turn.parse().unwrap(),
                ["reset", archive] => batch.reset = Some(archive == "true"),
                ["tape", entry] => batch.tape.push((key, entry.parse().unwrap())),
                ["side", entry] => batch.side.push((key, entry.parse().unwrap())),
                _ => unreachable!("{text}"),
            }
        }
        if key != 0 {
            batch.tape.push((key, 99));
            self.commit(key, &batch).await?;
        }
        self.truncate(TURN, journal, 0).await;
        self.sync(TURN, journal).await;
        Ok(())
    }

    pub async fn turn(&self, turn: u64) -> Result<(), NoSpace> {
        let locked = self.has(Part::TurnLock);
        if locked {
            self.lock(TURN).await;
        }
        let result = self.turn_locked(turn).await;
        if locked {
            self.unlock(TURN).await;
        }
        result
    }

    async fn turn_locked(&self, turn: u64) -> Result<(), NoSpace> {
        self.slot_file().await;
        let journal = self.open(TURN).await;
        self.recover_turn(journal).await?;
        self.record(journal, &format!("header {turn}")).await?;
        let mut batch = Batch::default();
        let (entries, reset) = {
            let mut world = self.world.borrow_mut();
            (1 + world.random.below(3), world.random.below(12))
        };
        for entry in 0..entries as u64 {
            let side = self.world.borrow_mut().random.one_in(3);
            let name = if side { SIDE } else { TAPE };
            if self.record(journal, &format!("{name} {entry}")).await.is_err() {
                continue;
            }
            self.acknowledge((turn, entry));
            if side { &mut batch.side } else { &mut batch.tape }.push((turn, entry));
            if entry == 0 && reset < 2 && self.record(journal, &format!("reset {}", reset == 0)).await.is_ok() {
                batch.reset = Some(reset == 0);
            }
        }
        self.commit(turn, &batch).await?;
        self.truncate(TURN, journal, 0).await;
        self.sync(TURN, journal).await;
        Ok(())
    }

    pub async fn append(&self, number: u64) -> Result<(), NoSpace> {
        let (lines, side) = {
            let mut world = self.world.borrow_mut();
            (1 + world.random.below(2) as u64, world.random.one_in(4))
        };
        let tape: Vec<Token> = (0..lines).map(|line| (number, line)).collect();
        let side = if side { vec![(number, 50)] } else { Vec::new() };
        self.commit(0, &Batch { reset: None, tape: tape.clone(), side: side.clone() }).await?;
        tape.into_iter().chain(side).for_each(|token| self.acknowledge(token));
        Ok(())
    }

    pub async fn reset(&self, number: u64) -> Result<(), NoSpace> {
        self.lock(TURN).await;
        let result = async {
            self.slot_file().await;
            let journal = self.open(TURN).await;
            self.recover_turn(journal).await?;
            let archive = self.world.borrow_mut().random.one_in(2);
            let batch = Batch { reset: Some(archive), tape: vec![(number, 0)], side: Vec::new() };
            self.commit(0, &batch).await?;
            self.acknowledge((number, 0));
            Ok(())
        };
        let result = result.await;
        self.unlock(TURN).await;
        result
    }

    async fn reader_places(&self) -> [Vec<u8>; 2] {
        match self.step("reader: lookup lock", |world| world.disk.lookup(LOCK)).await {
            Some(lock) => self.places(lock).await,
            None => Default::default(),
        }
    }

    /// The bytes of the tape that a reader shows, without a lock; `None` when the slot changed too often meanwhile.
    pub async fn read(&self, name: &str) -> Option<Vec<u8>> {
        for _ in 0..4 {
            let before = self.reader_places().await;
            let file = self.step("reader: lookup tape", |world| world.disk.lookup(name)).await?;
            let bytes = self.bytes(file).await;
            let length = if self.has(Part::ReaderWholeLines) { whole_lines(&bytes) } else { bytes.len() };
            let after = self.reader_places().await;
            if before != after && self.has(Part::SecondLook) {
                continue;
            }
            let slot = Self::newest(if self.has(Part::SecondLook) { &after } else { &before });
            let part = slot.pending.iter().flat_map(|(_, parts)| parts).find(|part| part.name == name);
            let limit = part.map_or(length, |part| part.offset.min(length));
            let mut bytes = self.bytes(file).await;
            bytes.truncate(limit);
            return Some(bytes);
        }
        None
    }
}
