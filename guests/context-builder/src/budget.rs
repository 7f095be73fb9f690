//! The token budget: shares of each part, and accounting.

use serde_json::{Map, Value};

/// Percentage of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    pub system_prompt: u64,
    pub summary: u64,
    pub retrieved: u64,
    pub recent_messages: u64,
    pub current_input: u64,
}

impl Shares {
    #[cfg(test)]
    pub const ORIGINAL: Self =
        Self { system_prompt: 20, summary: 10, retrieved: 10, recent_messages: 55, current_input: 5 };

    pub fn sum(&self) -> u64 {
        self.system_prompt + self.summary + self.retrieved + self.recent_messages + self.current_input
    }
}

/// Tokens for each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub system_prompt: u64,
    pub summary: u64,
    pub retrieved: u64,
    pub recent_messages: u64,
    pub current_input: u64,
    /// The remainder of rounding and of shares below 100 percent.
    pub reserved: u64,
}

impl Budget {
    /// Splits the total, rounding down.
    pub fn allocate(total: u64, shares: &Shares) -> Self {
        let of = |share: u64| u64::try_from(u128::from(total) * u128::from(share) / 100).unwrap_or(u64::MAX);
        let mut budget = Self {
            system_prompt: of(shares.system_prompt),
            summary: of(shares.summary),
            retrieved: of(shares.retrieved),
            recent_messages: of(shares.recent_messages),
            current_input: of(shares.current_input),
            reserved: 0,
        };
        let given =
            budget.system_prompt + budget.summary + budget.retrieved + budget.recent_messages + budget.current_input;
        budget.reserved = total.saturating_sub(given);
        budget
    }
}

/// Categories of tokens. The first five are the parts of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    SystemPrompt,
    Summary,
    Retrieved,
    RecentMessages,
    CurrentInput,
    Pinning,
    Tools,
}

const NAMES: [&str; 7] = ["systemPrompt", "summary", "retrieved", "recentMessages", "currentInput", "pinning", "tools"];

/// Counts by category; refuses to exceed the total.
#[derive(Debug, Clone)]
pub struct Tracker {
    total: u64,
    breakdown: [u64; NAMES.len()],
}

impl Tracker {
    pub fn new(total: u64) -> Self {
        Self { total, breakdown: [0; NAMES.len()] }
    }

    /// Allocates tokens, if available.
    #[must_use]
    pub fn allocate(&mut self, category: Category, tokens: u64) -> bool {
        if tokens > self.left() {
            return false;
        }
        self.breakdown[category as usize] += tokens;
        true
    }

    /// Returns unused tokens.
    pub fn release(&mut self, category: Category, tokens: u64) {
        self.breakdown[category as usize] -= tokens.min(self.breakdown[category as usize]);
    }

    pub fn used(&self) -> u64 {
        self.breakdown.iter().sum()
    }

    pub fn left(&self) -> u64 {
        self.total - self.used()
    }

    pub fn of(&self, category: Category) -> u64 {
        self.breakdown[category as usize]
    }

    /// `tokenStats`: tokens by category, and their sum.
    pub fn stats(&self) -> Value {
        let parts = NAMES.iter().zip(self.breakdown).map(|(name, tokens)| ((*name).to_owned(), tokens.into()));
        let mut stats: Map<String, Value> = parts.collect();
        stats.insert("total".to_owned(), self.used().into());
        stats.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_split_is_20_10_10_55_5_and_rounds_down() {
        let budget = Budget::allocate(48_000, &Shares::ORIGINAL);
        let expected = Budget {
            system_prompt: 9_600,
            summary: 4_800,
            retrieved: 4_800,
            recent_messages: 26_400,
            current_input: 2_400,
            reserved: 0,
        };
        assert_eq!(budget, expected);
        let odd = Budget::allocate(519, &Shares::ORIGINAL);
        assert_eq!((odd.system_prompt, odd.summary, odd.recent_messages, odd.current_input), (103, 51, 285, 25));
        assert_eq!(odd.reserved, 519 - 103 - 51 - 51 - 285 - 25);
        Budget::allocate(u64::MAX, &Shares::ORIGINAL);
    }

    #[test]
    fn a_total_is_met_exactly_and_one_more_is_refused() {
        let mut tracker = Tracker::new(100);
        assert!(tracker.allocate(Category::SystemPrompt, 60));
        assert!(!tracker.allocate(Category::Summary, 41));
        assert!(tracker.allocate(Category::Summary, 40));
        assert!(!tracker.allocate(Category::Pinning, 1));
        assert!(tracker.allocate(Category::Pinning, 0));
        assert!(!tracker.allocate(Category::Tools, u64::MAX));
        assert_eq!((tracker.used(), tracker.left()), (100, 0));
        assert_eq!((tracker.of(Category::Summary), tracker.stats()["total"].as_u64()), (40, Some(100)));
    }
}
