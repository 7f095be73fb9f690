//! Faults count together, wherever they happen.

use super::two;
use crate::quarantine::{breaks, is_passed_over, listed};
use bub_test_support::postgres::Postgres;
use bub_tests::{Home, Serve, programs};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Two homes with the same plugin, which traps in `build-prompt`.
fn weak() -> Option<([Home; 2], &'static Postgres, String)> {
    let (homes, postgres, address) = two("")?;
    let homes = homes.map(|home| {
        let home = home.bare();
        home.scripted("weak", programs::SCRIPTED, "build-prompt = { trap = true }");
        home
    });
    Some((homes, postgres, address))
}

#[test]
fn faults_on_two_workers_open_a_circuit_for_a_session_and_two_sessions_open_it_for_all() {
    let Some(([a, b], postgres, address)) = weak() else { return };
    for home in [&a, &b, &a] {
        breaks(home, "one");
    }
    is_passed_over(&b, "one");
    for home in [&b, &a, &b] {
        breaks(home, "two");
    }
    for home in [&a, &b] {
        is_passed_over(home, "three");
        assert!(!listed(home).is_empty());
        assert!(!home.bub_home().join("quarantine/breakers.json").exists(), "nothing is in a file");
    }
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM breaker"), "1");
    let lifted = b.bub(["plugin", "unquarantine", "weak"]).finish();
    lifted.says("plugin `weak` is no longer in quarantine\n");
    breaks(&a, "three");
}

#[test]
fn a_quarantine_that_begins_elsewhere_reaches_a_worker_that_serves() {
    let Some(([a, b], ..)) = weak() else { return };
    let served = Serve::start(b.bub(["serve", "--listen", "127.0.0.1:0"]).watched(), &b.bub_home());
    for session in ["one", "two"] {
        (0..3).for_each(|_| drop(breaks(&a, session)));
    }
    let start = Instant::now();
    loop {
        let all = served.get("/v1/plugins");
        // Before it is for all sessions, it is for the first one alone.
        let for_all = |circuit: &Value| circuit["caller"].is_null() && circuit["session"].is_null();
        if all["quarantined"].as_array().is_some_and(|open| open.iter().any(for_all)) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{all}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let said = served.post("/v1/turns", &json!({ "content": "hello" })).to_string();
    assert!(!said.contains("trapped"), "{said}");
    assert_eq!(served.end().code, Some(0));
}
