//! A sparse index of ids: points of a tape's file with known ids, so that an entry can be numbered without reading the
//! file from its beginning.

use serde::{Deserialize, Serialize};

use super::super::ids::LARGEST_ID;

/// Initial distance of two points, in bytes.
const STEP: u64 = 64 * 1024;

/// Maximum number of points. Beyond it every second point is dropped, and the distance doubles.
const MAX_POINTS: usize = 1024;

/// Starts of lines, each with the id of the last entry before it, in file order. Offset 0 is always one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SparseIndex {
    points: Vec<IndexPoint>,
    /// Distance of two points: [`STEP`] times two to this power.
    spread: u32,
}

/// The start of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexPoint {
    pub(super) offset: u64,
    /// The id of the last entry before it; 0 without one.
    pub(super) last: u64,
}

impl SparseIndex {
    /// Adds a point after all others, if it is far enough from the last one.
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

    /// The last point at or before `offset`.
    pub(super) fn at(&self, offset: u64) -> IndexPoint {
        self.before(self.points.partition_point(|point| point.offset <= offset))
    }

    /// The last point before the first entry with an id greater than `id`.
    pub(super) fn behind(&self, id: u64) -> IndexPoint {
        self.before(self.points.partition_point(|point| point.last <= id))
    }

    /// The end of the stretch that begins at a point: the next one, or `end`.
    pub(super) fn end_of(&self, point: IndexPoint, end: u64) -> u64 {
        let next = self.points.get(self.points.partition_point(|other| other.offset <= point.offset));
        next.map_or(end, |next| next.offset.min(end))
    }

    /// The preceding point; `None` for the first.
    pub(super) fn previous(&self, point: IndexPoint) -> Option<IndexPoint> {
        (point.offset > 0).then(|| self.before(self.points.partition_point(|other| other.offset < point.offset)))
    }

    /// Whether they are valid for a file with that many bytes: saved data may be corrupt.
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
