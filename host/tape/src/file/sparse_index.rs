//! A sparse index of ids: points of a tape's file with known ids, so that an entry can be numbered without reading the
//! file from its beginning.

use serde::{Deserialize, Serialize};

use super::super::ids::LARGEST_ID;

/// Bytes between two points, at first.
const STEP: u64 = 64 * 1024;

/// The most points. Where there would be more, every second one goes, and they are twice as far apart from then on.
const MAX_POINTS: usize = 1024;

/// Beginnings of lines, each with the id of the last entry before it, in the order of the file. Its beginning is always one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SparseIndex {
    points: Vec<IndexPoint>,
    /// Bytes between two points, as a power of two times [`STEP`].
    spread: u32,
}

/// The beginning of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexPoint {
    pub(super) offset: u64,
    /// The id of the last entry before it; 0: there is none.
    pub(super) last: u64,
}

impl SparseIndex {
    /// Says what is known of the beginning of a line behind all that were marked.
    pub(super) fn pass(&mut self, point: IndexPoint) {
        let step = STEP.checked_shl(self.spread).unwrap_or(u64::MAX);
        if point.offset.saturating_sub(self.points.last().map_or(0, |last| last.offset)) < step {
            return;
        }
        self.points.push(point);
        if self.points.len() > MAX_POINTS {
            let mut is_second = true;
            self.points.retain(|_| {
                is_second = !is_second;
                is_second
            });
            self.spread += 1;
        }
    }

    /// The last point that is not behind `offset`.
    pub(super) fn at(&self, offset: u64) -> IndexPoint {
        self.before(self.points.partition_point(|point| point.offset <= offset))
    }

    /// The last point behind which all entries have a greater id than `id`, or some have.
    pub(super) fn behind(&self, id: u64) -> IndexPoint {
        self.before(self.points.partition_point(|point| point.last <= id))
    }

    /// Where the stretch ends that begins at a point: at the next one, or at `end`.
    pub(super) fn end_of(&self, point: IndexPoint, end: u64) -> u64 {
        let next = self.points.get(self.points.partition_point(|other| other.offset <= point.offset));
        next.map_or(end, |next| next.offset.min(end))
    }

    /// The point in front of one; none in front of the first.
    pub(super) fn previous(&self, point: IndexPoint) -> Option<IndexPoint> {
        (point.offset > 0).then(|| self.before(self.points.partition_point(|other| other.offset < point.offset)))
    }

    /// Whether they may be a file's of which so many bytes were read: what is kept on a disk may say anything.
    pub(super) fn are_of(&self, length: u64) -> bool {
        let grow = |points: &[IndexPoint]| match points {
            [one, next] => one.offset < next.offset && one.last <= next.last,
            _ => true,
        };
        self.points.windows(2).all(grow)
            && self.points.first().is_none_or(|first| first.offset > 0)
            && self.points.last().is_none_or(|last| last.offset <= length && last.last <= 2 * LARGEST_ID)
            && self.points.len() <= MAX_POINTS
            && self.spread < u64::BITS
    }

    fn before(&self, count: usize) -> IndexPoint {
        count.checked_sub(1).and_then(|place| self.points.get(place)).copied().unwrap_or_default()
    }
}
