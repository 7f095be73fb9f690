//! The state of a program, and its steps on the disk. At each `step` another program may run or this one may end.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use super::disk::{Disk, Random};

pub const TAPE: &str = "tape";
pub const SIDE: &str = "side";
pub const TURN: &str = "turn";
pub const LOCK: &str = "lock";

/// Parts that can be left out of the protocol, to see it fail.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Part {
    TurnLock,
    Slot,
    MergedKey,
    /// The slot has one place instead of two.
    SecondPlace,
    /// A pending commit is kept without looking at its bytes.
    Checksum,
    /// The remembered end of a file is trusted.
    EndChecked,
    TailRule,
    /// A reader does not look at the slot again.
    SecondLook,
    /// Before a place of the slot is overwritten, the other one, which another program wrote, is synced.
    SyncFoundSlot,
    /// The result of a recovery is synced before the slot forgets it.
    SyncRecovered,
    /// The directory is synced before a file in it counts.
    SyncNames,
    /// The newline that a last line lacks belongs to the block and its checksum.
    NewlineInBlock,
    /// A record that could not be written whole is cut off.
    TornRecordCut,
    /// A reader ends at a whole line that it saw between its two looks at the slot.
    ReaderWholeLines,
}

/// An entry: what it belongs to (a turn or an append) and its number in it.
pub type Token = (u64, u64);

pub struct World {
    pub disk: Disk,
    pub random: Random,
    pub left_out: Option<Part>,
    pub fsync: bool,
    pub errors: bool,
    pub locks: BTreeMap<&'static str, usize>,
    pub acknowledged: BTreeSet<Token>,
    pub removed: BTreeSet<Token>,
    pub power_lost: bool,
    pub counter: u64,
    pub failure: Option<String>,
    pub trace: Option<Vec<String>>,
    /// Another program left half a line, or a line without its newline.
    pub torn_before: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub reset: Option<bool>,
    pub tape: Vec<Token>,
    pub side: Vec<Token>,
}

#[derive(Debug)]
pub struct NoSpace;

/// The remembered end of a file: inode number, length, the slot's seq, last id.
type End = (u64, usize, u64, u64);

/// One process of the program: what it remembers dies with it.
pub struct Program {
    pub id: usize,
    pub world: Rc<RefCell<World>>,
    pub ends: RefCell<BTreeMap<&'static str, End>>,
    pub own_seq: Cell<u64>,
    pub dir_synced: Cell<bool>,
}

impl Program {
    pub fn new(id: usize, world: Rc<RefCell<World>>) -> Self {
        Self { id, world, ends: RefCell::default(), own_seq: Cell::new(0), dir_synced: Cell::new(false) }
    }

    pub async fn step<T>(&self, what: &str, act: impl FnOnce(&mut World) -> T) -> T {
        let mut waited = false;
        poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        let mut world = self.world.borrow_mut();
        if let Some(trace) = &mut world.trace {
            trace.push(format!("{}: {what}", self.id));
        }
        act(&mut world)
    }

    pub async fn lock(&self, name: &'static str) {
        while !self.step(&format!("lock {name}"), |world| *world.locks.entry(name).or_insert(self.id) == self.id).await
        {
        }
    }

    pub async fn unlock(&self, name: &'static str) {
        self.step(&format!("unlock {name}"), |world| world.locks.remove(name)).await;
    }

    pub async fn open(&self, name: &str) -> usize {
        self.step(&format!("open {name}"), |world| world.disk.open(name)).await
    }

    pub async fn bytes(&self, file: usize) -> Vec<u8> {
        self.step("read", |world| world.disk.bytes(file).to_vec()).await
    }

    /// One `write`, which other programs and a crash may see cut at any byte.
    pub async fn write(&self, name: &str, file: usize, at: usize, bytes: &[u8], may_fail: bool) -> Result<(), NoSpace> {
        let (cut, fails) = {
            let mut world = self.world.borrow_mut();
            let errors = world.errors && may_fail;
            (world.random.below(bytes.len() + 1), errors && world.random.one_in(12))
        };
        if cut > 0 {
            let head = &bytes[..cut];
            self.step(&format!("write {name} at {at} {:?}", String::from_utf8_lossy(head).trim_end()), |world| {
                world.disk.write(file, at, head);
            })
            .await;
        }
        if fails {
            return Err(NoSpace);
        }
        if cut < bytes.len() {
            let rest = &bytes[cut..];
            let at = at + cut;
            self.step(&format!("write {name} at {at} {:?}", String::from_utf8_lossy(rest).trim_end()), |world| {
                world.disk.write(file, at, rest);
            })
            .await;
        }
        Ok(())
    }

    pub async fn truncate(&self, name: &str, file: usize, length: usize) {
        self.step(&format!("truncate {name} to {length}"), |world| world.disk.truncate(file, length)).await;
    }

    pub fn has(&self, part: Part) -> bool {
        self.world.borrow().left_out != Some(part)
    }

    /// Only where durability is `fsync`.
    pub async fn sync(&self, name: &str, file: usize) {
        if self.world.borrow().fsync {
            self.step(&format!("sync {name}"), |world| world.disk.sync(file)).await;
        }
    }

    pub async fn sync_dir(&self) {
        self.step("sync dir", |world| world.disk.sync_dir()).await;
    }

    pub async fn sync_names(&self) {
        if self.world.borrow().fsync && self.has(Part::SyncNames) {
            self.sync_dir().await;
        }
    }
}
