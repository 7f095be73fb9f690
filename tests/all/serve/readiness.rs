//! `/livez` and `/readyz`.

use super::{echo, serve};
use crate::home;
use bub_test_support::postgres::Postgres;
use bub_tests::{Said, Serve};
use serde_json::json;
use std::time::{Duration, Instant};

/// Asks `/readyz` until an answer is as wanted.
#[track_caller]
fn until(serve: &Serve<'_>, is_wanted: impl Fn(&Said) -> bool) -> Said {
    let begun = Instant::now();
    loop {
        let said = serve.strange("GET", "/readyz").send();
        if is_wanted(&said) {
            return said;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{said:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_server_is_ready_when_its_plugins_are_compiled_and_not_without_its_tape_store() {
    let (home, model) = (home(), echo());
    let well = serve(&home, &model);
    let said = until(&well, |said| said.status == 200);
    assert_eq!(said.json(), json!({ "ready": true, "reasons": [] }));
    assert_eq!(well.strange("GET", "/livez").send().ok(), json!({ "live": true }));
    assert_eq!(well.strange("GET", "/healthz").send().status, 200);
    drop(well);
    home.configure("[plugins.elsewhere]\nfollow = true\ngrants = [\"hook:tape-store\"]");
    let ill = serve(&home, &model);
    let said = until(&ill, |said| !said.body.contains("plugins_preparing"));
    assert_eq!((said.status, &said.json()["ready"]), (503, &json!(false)));
    assert_eq!(said.json()["reasons"][0]["code"], "store_plugin_unavailable", "{}", said.body);
    assert_eq!(said.header("retry-after"), Some("1"));
    assert_eq!(ill.strange("GET", "/healthz").send().status, 200);
}

#[test]
fn a_server_without_its_database_is_alive_and_not_ready_and_ready_again_when_it_is_back() {
    let Some(mut postgres) = Postgres::start(&["log_statement=all"]) else { return };
    let (home, model, address) = (home(), echo(), postgres.database());
    home.configure(&format!("tape_store = {address:?}"));
    let served = serve(&home, &model);
    until(&served, |said| said.status == 200);
    postgres.stop();
    let said = until(&served, |said| said.status == 503);
    assert_eq!(said.json()["reasons"].as_array().unwrap().len(), 1, "{}", said.body);
    assert_eq!(said.json()["reasons"][0]["code"], "store_unreachable", "{}", said.body);
    assert!(!said.body.contains("postgres:"), "it tells strangers no address: {}", said.body);
    assert_eq!(served.strange("GET", "/livez").send().ok(), json!({ "live": true }));
    postgres.start_again();
    until(&served, |said| said.status == 200);
    served.post("/v1/turns", &json!({ "content": "hello", "session_id": "http:birds" }));
    // However many probes arrive, the database is asked once in a while.
    let asked = || postgres.log().matches("transaction_read_only").count();
    let (before, begun) = (asked(), Instant::now());
    for _ in 0..200 {
        assert_eq!(served.strange("GET", "/readyz").send().status, 200);
    }
    let allowed = 2 + begun.elapsed().as_secs() as usize / 3;
    assert!(asked() - before <= allowed, "{} questions for 200 probes", asked() - before);
    let log = served.end().stderr;
    assert!(log.contains("not ready: the store of the tapes: open the tapes in"), "{log}");
}
