//! Places of a tape's file at which the ids are known that its entries have, so that an entry far inside is numbered
//! without reading all that stands before it.

use serde::{Deserialize, Serialize};

use super::super::ids::LARGEST_ID;

/// Bytes between two marks, at first.
const STEP: u64 = 64 * 1024;

/// The most marks. Where there would be more, every second one goes, and they are twice as far apart from then on.
const MOST: usize = 1024;

/// Beginnings of lines, each with the id of the last entry before it, in the order of the file. Its beginning is always one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Marks {
    places: Vec<Mark>,
    /// Bytes between two marks, as a power of two times [`STEP`].
    spread: u32,
}

/// The beginning of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) offset: u64,
    /// The id of the last entry before it; 0: there is none.
    pub(super) last: u64,
}

impl Marks {
    /// Says what is known of the beginning of a line behind all that were marked.
    pub(super) fn pass(&mut self, mark: Mark) {
        let step = STEP.checked_shl(self.spread).unwrap_or(u64::MAX);
        if mark.offset.saturating_sub(self.places.last().map_or(0, |last| last.offset)) < step {
            return;
        }
        self.places.push(mark);
        if self.places.len() > MOST {
            let mut is_second = true;
            self.places.retain(|_| {
                is_second = !is_second;
                is_second
            });
            self.spread += 1;
        }
    }

    /// The last mark that is not behind `offset`.
    pub(super) fn at(&self, offset: u64) -> Mark {
        self.before(self.places.partition_point(|mark| mark.offset <= offset))
    }

    /// The last mark behind which all entries have a greater id than `id`, or some have.
    pub(super) fn behind(&self, id: u64) -> Mark {
        self.before(self.places.partition_point(|mark| mark.last <= id))
    }

    /// Where the stretch ends that begins at a mark: at the next one, or at `end`.
    pub(super) fn end_of(&self, mark: Mark, end: u64) -> u64 {
        let next = self.places.get(self.places.partition_point(|other| other.offset <= mark.offset));
        next.map_or(end, |next| next.offset.min(end))
    }

    /// The mark in front of one; none in front of the first.
    pub(super) fn previous(&self, mark: Mark) -> Option<Mark> {
        (mark.offset > 0).then(|| self.before(self.places.partition_point(|other| other.offset < mark.offset)))
    }

    /// Whether they may be a file's of which so many bytes were read: what is kept on a disk may say anything.
    pub(super) fn are_of(&self, length: u64) -> bool {
        let grow = |marks: &[Mark]| match marks {
            [one, next] => one.offset < next.offset && one.last <= next.last,
            _ => true,
        };
        self.places.windows(2).all(grow)
            && self.places.first().is_none_or(|first| first.offset > 0)
            && self.places.last().is_none_or(|last| last.offset <= length && last.last <= 2 * LARGEST_ID)
            && self.places.len() <= MOST
            && self.spread < u64::BITS
    }

    fn before(&self, count: usize) -> Mark {
        count.checked_sub(1).and_then(|place| self.places.get(place)).copied().unwrap_or_default()
    }
}
