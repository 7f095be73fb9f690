//! Assignment of increasing ids, independent of the ids on the lines.
//!
//! Pages, views and sections are bounded by ids, so a store returns increasing ids only. Lines from another program, a
//! manual merge or an attack may have any id; an entry whose id does not increase, or exceeds [`LARGEST_ID`], gets the
//! id after the preceding entry's. This rule depends only on the preceding entries, so an append changes no id that was
//! returned before.

/// The largest id that a line may have: 2^53-1, the largest integer that every JSON reader preserves. A greater one
/// would exhaust the range for later entries.
pub(super) const LARGEST_ID: u64 = (1 << 53) - 1;

/// Assigns ids to the entries of a tape, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ids {
    last: u64,
}

impl Ids {
    /// Continues after an entry with that id; 0: at the beginning of the tape.
    pub(super) const fn behind(last: u64) -> Self {
        Self { last }
    }

    /// The id of the next entry, whose line has the id `written`.
    pub(super) fn next(&mut self, written: u64) -> u64 {
        self.last = if self.grows(written) { written } else { self.last.saturating_add(1) };
        self.last
    }

    /// Whether the next entry may keep the id that is written on its line.
    pub(super) const fn grows(self, written: u64) -> bool {
        is_usable(written) && written > self.last
    }
}

/// Whether an entry may have this id.
pub(super) const fn is_usable(written: u64) -> bool {
    0 < written && written <= LARGEST_ID
}

/// Parses the id of a line, clamped to the range of `u64`; clamped ids are not usable. `None`: not a whole number.
pub(super) fn parse(number: &str) -> Option<u64> {
    match number {
        // Python reads booleans as numbers.
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
