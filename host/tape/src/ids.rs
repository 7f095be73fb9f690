//! Increasing ids, whatever the ids on the lines are.
//!
//! Pages, views and sections are bounded by ids, so a store returns increasing ids only. What another program, a merge
//! by hand or an attack wrote may bear any id; an entry whose id does not grow, or lies above [`LARGEST_ID`], stands
//! under the id behind the entry before it. This rule needs nothing but what stands in front of an entry, so an append
//! changes no id that was handed out.

/// The largest id that a line may claim: the largest whole number that every JSON reader keeps exactly, 2^53-1. A greater
/// one would bring every later entry near the end of the numbers.
pub(super) const LARGEST_ID: u64 = (1 << 53) - 1;

/// Gives the entries of a tape their ids, in the order of the tape.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ids {
    last: u64,
}

impl Ids {
    /// Goes on behind an entry with that id; 0: at the beginning of the tape.
    pub(super) const fn behind(last: u64) -> Self {
        Self { last }
    }

    /// The id of the next entry, whose line has the id `written`.
    pub(super) fn next(&mut self, written: u64) -> u64 {
        self.last = if self.grows(written) { written } else { self.last.saturating_add(1) };
        self.last
    }

    /// Whether the next entry may have the id that is written on its line.
    pub(super) const fn grows(self, written: u64) -> bool {
        is_usable(written) && written > self.last
    }
}

/// Whether any entry may have this id.
pub(super) const fn is_usable(written: u64) -> bool {
    0 < written && written <= LARGEST_ID
}

/// The id that a line's number stands for: what is below or beyond the range of ids is the nearest of them, which is none
/// that an entry keeps. `None`: it is no whole number.
pub(super) fn parse(number: &str) -> Option<u64> {
    match number {
        // In Python these are numbers.
        "true" => Some(1),
        "false" => Some(0),
        digits => {
            let is_negative = digits.starts_with('-');
            let digits = digits.strip_prefix('-').unwrap_or(digits);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            Some(if is_negative { 0 } else { digits.parse().unwrap_or(u64::MAX) })
        }
    }
}
