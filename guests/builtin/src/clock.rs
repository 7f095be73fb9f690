//! Dates in the format of tapes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// UTC, to the microsecond: `2026-11-21T02:39:17.808635+00:00`.
pub fn now() -> String {
    date(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A zero fraction is omitted, as by Python's `isoformat`.
fn date(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = civil(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
    let fraction = match since_epoch.subsec_micros() {
        0 => String::new(),
        micros => format!(".{micros:06}"),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}+00:00")
}

/// Year, month and day of a day counted from 1970-01-01. Years start in March here, so that the leap day is the last of
/// its year, in eras of 400 years, the calendar's period.
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    // From 0000-03-01 to 1970-01-01.
    let days = days.saturating_add(719_468);
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months of 31 and 30 days alternate, approximated by a line.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_python_writes_them() {
        let cases = [
            (0, 0, "1970-01-01T00:00:00+00:00"),
            (951_782_400, 0, "2000-02-29T00:00:00+00:00"),
            (1_709_164_800, 5, "2024-02-29T00:00:00.000005+00:00"),
            (1_795_228_757, 808_635, "2026-11-21T02:39:17.808635+00:00"),
            (4_107_542_399, 999_999, "2100-02-28T23:59:59.999999+00:00"),
            (4_107_542_400, 0, "2100-03-01T00:00:00+00:00"),
        ];
        for (seconds, micros, expected) in cases {
            assert_eq!(date(Duration::new(seconds, micros * 1_000)), expected);
        }
    }
}
