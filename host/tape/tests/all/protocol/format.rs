//! The bytes of the slot and of a line.

use super::program::Token;

/// Of each place of the slot.
pub const PLACE: usize = 160;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub name: String,
    pub offset: usize,
    pub length: usize,
    pub sum: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    pub seq: u64,
    pub merged: u64,
    pub pending: Option<(u64, Vec<Block>)>,
}

pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Slot {
    pub fn encode(&self) -> Vec<u8> {
        let mut text = format!("{} {}", self.seq, self.merged);
        if let Some((key, parts)) = &self.pending {
            text += &format!(" {key}");
            for Block { name, offset, length, sum } in parts {
                text += &format!(" {name},{offset},{length},{sum:x}");
            }
        }
        let mut bytes = format!("{:x} {text}", checksum(text.as_bytes())).into_bytes();
        assert!(bytes.len() < PLACE, "{}", bytes.len());
        bytes.resize(PLACE, b'\n');
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (sum, text) = std::str::from_utf8(bytes).ok()?.trim_end_matches('\n').split_once(' ')?;
        if bytes.len() < PLACE || u64::from_str_radix(sum, 16).ok()? != checksum(text.as_bytes()) {
            return None;
        }
        let mut words = text.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (seq, merged, key) = (number()?, number()?, number());
        let part = |word: &str| {
            let fields: Vec<_> = word.split(',').collect();
            Block {
                name: fields[0].to_owned(),
                offset: fields[1].parse().unwrap(),
                length: fields[2].parse().unwrap(),
                sum: u64::from_str_radix(fields[3], 16).unwrap(),
            }
        };
        Some(Self { seq, merged, pending: key.map(|key| (key, words.map(part).collect())) })
    }
}

/// A line of a tape or sidecar: which commit wrote it and what else that commit wrote.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    pub id: u64,
    pub token: Token,
    pub commit: u64,
    pub index: u64,
    pub total: u64,
    pub files: u64,
}

impl Line {
    pub fn encode(&self) -> String {
        let Self { id, token, commit, index, total, files } = self;
        format!("<{id} {} {} {commit} {index} {total} {files}>", token.0, token.1)
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.strip_prefix('<')?.strip_suffix('>')?;
        let numbers: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
        let Ok([id, turn, entry, commit, index, total, files]) = <[u64; 7]>::try_from(numbers?) else {
            return None;
        };
        Some(Self { id, token: (turn, entry), commit, index, total, files })
    }
}

/// The end of the last line that can be read.
pub fn whole_lines(bytes: &[u8]) -> usize {
    let (mut at, mut end) = (0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if Line::decode(line.strip_suffix(b"\n").unwrap_or(line)).is_some() {
            end = at;
        }
    }
    end
}
