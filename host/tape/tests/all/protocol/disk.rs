//! A disk in memory: files whose bytes are safe only after `sync`, and names that are safe only after `sync_dir`.

use std::collections::BTreeMap;

/// Numbers that the seed decides, so that a failing schedule can be run again.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// The bytes that programs see, those on the platter, and the changes between.
#[derive(Default)]
struct Inode {
    number: u64,
    seen: Vec<u8>,
    safe: Vec<u8>,
    unsafe_changes: Vec<Change>,
}

type Names = BTreeMap<String, usize>;

/// Files are identified by an index that is never reused, like an open descriptor; their inode numbers are.
#[derive(Default)]
pub struct Disk {
    inodes: Vec<Inode>,
    names: Names,
    /// The directory as it was after each change since the last `sync_dir`, the safe one first.
    history: Vec<Names>,
}

/// The effect of a power loss on bytes that were not synced.
#[derive(Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each file is put back to a moment of its own: the last change of it is cut or ends in zeros.
    InOrder,
    /// Any write may be missing, cut, or zeros, whatever was written behind it. Truncations come in their order.
    AnyOrder,
}

fn put(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    if bytes.len() < at + new.len() {
        bytes.resize(at + new.len(), 0);
    }
    bytes[at..at + new.len()].copy_from_slice(new);
}

impl Disk {
    pub fn lookup(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.names.keys()
    }

    /// The file of that name, made when it is not there, with the lowest inode number that is free.
    pub fn open(&mut self, name: &str) -> usize {
        if let Some(file) = self.lookup(name) {
            return file;
        }
        let taken = |number: &u64| self.names.values().any(|file| self.inodes[*file].number == *number);
        let number = (1..).find(|number| !taken(number)).unwrap();
        self.inodes.push(Inode { number, ..Inode::default() });
        let file = self.inodes.len() - 1;
        self.change_names(|names| {
            names.insert(name.to_owned(), file);
        });
        file
    }

    /// `to` is `None` to remove the file.
    pub fn rename(&mut self, from: &str, to: Option<&str>) {
        self.change_names(|names| {
            let file = names.remove(from).unwrap();
            if let Some(to) = to {
                assert!(names.insert(to.to_owned(), file).is_none(), "an archive was replaced");
            }
        });
    }

    fn change_names(&mut self, change: impl FnOnce(&mut Names)) {
        if self.history.is_empty() {
            self.history.push(Names::new());
        }
        change(&mut self.names);
        self.history.push(self.names.clone());
    }

    pub fn number(&self, file: usize) -> u64 {
        self.inodes[file].number
    }

    pub fn bytes(&self, file: usize) -> &[u8] {
        &self.inodes[file].seen
    }

    pub fn write(&mut self, file: usize, at: usize, bytes: &[u8]) {
        let inode = &mut self.inodes[file];
        put(&mut inode.seen, at, bytes);
        inode.unsafe_changes.push(Change::Write(at, bytes.to_vec()));
    }

    pub fn truncate(&mut self, file: usize, length: usize) {
        let inode = &mut self.inodes[file];
        inode.seen.truncate(length);
        inode.unsafe_changes.push(Change::Truncate(length));
    }

    pub fn sync(&mut self, file: usize) {
        let inode = &mut self.inodes[file];
        inode.safe.clone_from(&inode.seen);
        inode.unsafe_changes.clear();
    }

    pub fn sync_dir(&mut self) {
        self.history = vec![self.names.clone()];
    }

    pub fn lose_power(&mut self, random: &mut Random, loss: Loss) {
        for inode in &mut self.inodes {
            let changes = std::mem::take(&mut inode.unsafe_changes);
            let kept = if random.one_in(3) { changes.len() } else { random.below(changes.len() + 1) };
            for (index, change) in changes.into_iter().take(kept).enumerate() {
                match change {
                    Change::Truncate(length) => inode.safe.truncate(length),
                    Change::Write(at, bytes) => {
                        let hurt = match loss {
                            Loss::InOrder => index + 1 == kept && random.one_in(2),
                            Loss::AnyOrder => random.one_in(3),
                        };
                        let whole = if hurt { random.below(bytes.len() + 1) } else { bytes.len() };
                        let end = at + bytes.len();
                        put(&mut inode.safe, at, &bytes[..whole]);
                        if hurt && inode.safe.len() < end && random.one_in(2) {
                            inode.safe.resize(end, 0);
                        }
                    }
                }
            }
            inode.seen.clone_from(&inode.safe);
        }
        if !self.history.is_empty() {
            let moment = random.below(self.history.len());
            self.names = self.history.swap_remove(moment);
            self.sync_dir();
        }
    }
}
