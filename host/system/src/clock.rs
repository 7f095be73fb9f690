//! The local time.
//!
//! `jiff::Zoned::now` finds the name of the system's time zone in the database of zones, and lists that database first:
//! more than 200 system calls, which a `run` of a few milliseconds notices. `/etc/localtime` holds the rules of the zone
//! themselves, and its link target the name.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use parking_lot::RwLock;
use std::fs;
use std::time::{Duration, Instant};

const LOCAL_ZONE: &str = "/etc/localtime";

/// The text before the zone's name in the target of the link.
const DATABASE: &str = "zoneinfo/";

/// A traveller's machine changes its zone while `serve` runs; jiff looks as often.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);

static ZONE: RwLock<Option<(Instant, TimeZone)>> = RwLock::new(None);

/// The current time in the zone of the system, or in that of the variable `TZ`.
pub fn now() -> Zoned {
    Timestamp::now().to_zoned(zone())
}

fn zone() -> TimeZone {
    // jiff determines the values that the variable may hold.
    if std::env::var_os("TZ").is_some() {
        return TimeZone::system();
    }
    let kept = ZONE.read().as_ref().filter(|(read, _)| read.elapsed() < MAX_AGE).map(|(_, zone)| zone.clone());
    kept.unwrap_or_else(|| {
        let zone = local_zone().unwrap_or_else(TimeZone::system);
        *ZONE.write() = Some((Instant::now(), zone.clone()));
        zone
    })
}

/// The zone that `/etc/localtime` links to; none where it is no link, or its file no zone.
fn local_zone() -> Option<TimeZone> {
    let target = fs::read_link(LOCAL_ZONE).ok()?;
    let (_, name) = target.to_str()?.rsplit_once(DATABASE)?;
    let rules = fs::read(LOCAL_ZONE).ok()?;
    TimeZone::tzif(name, &rules).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_the_one_that_jiff_finds() {
        let Some(zone) = local_zone() else { return eprintln!("skipped: `{LOCAL_ZONE}` is no link to a zone") };
        let other = TimeZone::system();
        assert_eq!(zone.iana_name(), other.iana_name());
        for second in [0, 1_500_000_000, 1_750_000_000, 4_000_000_000] {
            let at = Timestamp::from_second(second).expect("a time");
            assert_eq!(zone.to_offset(at), other.to_offset(at));
        }
    }
}
