//! Days and dates. A day is written as `2026-02-10`; such dates compare as texts.

use jiff::civil::Date;
use jiff::{Span, Timestamp};

/// The day of a date with the user's offset: `2026-02-10T09:00:00+08:00`.
pub fn of(moment: &str) -> String {
    moment.chars().take(10).collect()
}

/// The day that many days earlier.
pub fn before(day: &str, days: i64) -> String {
    let date = parse(day).and_then(|date| date.checked_sub(Span::new().try_days(days).ok()?).ok());
    // Before all valid days.
    date.map_or_else(String::new, |date| date.to_string())
}

/// Whether that is a valid day.
pub fn is_one(day: &str) -> bool {
    // Another spelling would compare as another day.
    parse(day).is_some_and(|date| date.to_string() == day)
}

/// The current time in UTC, in the format of tapes.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

fn parse(day: &str) -> Option<Date> {
    day.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_over_the_ends_of_months() {
        assert_eq!(before("2026-03-01", 1), "2026-02-28");
        assert_eq!(before("2024-03-01", 1), "2024-02-29");
        assert_eq!(before("2026-01-05", 7), "2025-12-29");
        assert_eq!(before("2026-01-05", 10_000_000), "");
    }

    #[test]
    fn a_day_is_written_one_way() {
        assert!(is_one("2026-02-10") && is_one("2024-02-29"));
        for wrong in ["2026-2-10", "2026-02-30", "20260210", "today", "", "2026-02-10T00:00:00"] {
            assert!(!is_one(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_day_of_a_moment_is_the_users() {
        assert_eq!(of("2026-02-10T00:30:00+08:00"), "2026-02-10");
    }

    #[test]
    fn now_is_utc() {
        let now = now();
        assert!(now.len() == 32 && now.ends_with("+00:00"), "{now}");
    }
}
