//! Dates in Python's ISO format, always in UTC.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

/// The current time as `2026-11-21T02:36:22.477123+00:00`, without a fraction if that is zero.
pub fn now() -> String {
    iso(Timestamp::now())
}

/// An id for a run that begins now: `run-20261121T023622479413Z`.
pub fn run_id() -> String {
    let (date, micro) = utc(Timestamp::now());
    format!("run-{}{micro:06}Z", compact(date))
}

/// The current second for a file name: `20261121T023951Z`.
pub(super) fn stamp() -> String {
    format!("{}Z", compact(utc(Timestamp::now()).0))
}

/// Converts seconds since 1970 to a date; 1970 itself if out of range.
pub(super) fn from_seconds(seconds: f64) -> String {
    let duration = SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::ZERO);
    let moment = Timestamp::from_duration(duration).unwrap_or(Timestamp::UNIX_EPOCH);
    iso(moment)
}

/// The first and last moment of an ISO date or date-time: a date covers its whole day. UTC is assumed without an
/// offset. `None` if it is invalid.
pub(super) fn span(text: &str) -> Option<(Timestamp, Timestamp)> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some((moment, moment));
    }
    let moment = |date: DateTime| Offset::UTC.to_timestamp(date).ok();
    if text.contains(['T', 't', ' ', ':']) {
        let moment = moment(text.parse().ok()?)?;
        return Some((moment, moment));
    }
    let day: jiff::civil::Date = text.parse().ok()?;
    Some((moment(day.at(0, 0, 0, 0))?, moment(day.at(23, 59, 59, 999_999_999))?))
}

fn iso(moment: Timestamp) -> String {
    let (date, micro) = utc(moment);
    let fraction = if micro == 0 { String::new() } else { format!(".{micro:06}") };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{fraction}+00:00",
        date.year(),
        date.month(),
        date.day(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

fn compact(date: DateTime) -> String {
    format!(
        "{:04}{:02}{:02}T{:02}{:02}{:02}",
        date.year(),
        date.month(),
        date.day(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

/// The date and its microseconds.
fn utc(moment: Timestamp) -> (DateTime, i32) {
    let date = Offset::UTC.to_datetime(moment);
    (date, date.subsec_nanosecond() / 1000)
}
