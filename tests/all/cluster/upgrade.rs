//! A rolling upgrade: the schema first, and then each worker.

use super::chaos::{Asked, Endpoint, ask_once, check};
use super::{Ending, Workers, go_on};
use bub_test_support::Chance;
use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Serve, Server};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

const WORKERS: usize = 3;
const CLIENTS: usize = 6;

/// The migrations, one a file.
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../host/postgres/migrations");

/// Takes what the migration to that version made, the last one, out of the schema again.
fn without(version: &str) -> String {
    let last = fs::read_to_string(format!("{MIGRATIONS}/{version:0>3}.sql")).unwrap();
    let made = last.lines().filter_map(|line| line.strip_prefix("CREATE "));
    let names = made.filter_map(|made| {
        let (what, name) = made.trim_start_matches("UNLOGGED ").split_once(' ')?;
        matches!(what, "TABLE" | "FUNCTION" | "SEQUENCE").then(|| (what, name.split([' ', '(', ';']).next()))
    });
    let drops = names.map(|(what, name)| format!("DROP {what} {} CASCADE; ", name.unwrap_or_default()));
    drops.collect::<String>() + "UPDATE bub_schema SET version = version - 1"
}

/// The workers that accept messages; `None`: one is being replaced.
type Endpoints = Mutex<Vec<Option<Endpoint>>>;

/// Asks one message after the other, each until it has an outcome, and notes what a worker refuses that is not being replaced.
fn client(
    client: usize,
    ends: &AtomicBool,
    endpoints: &Endpoints,
    asked: &Mutex<Vec<Asked>>,
    refused: &Mutex<Vec<String>>,
) {
    let mut chance = Chance::new(client as u64 + 1);
    for nth in 0.. {
        if ends.load(Ordering::SeqCst) {
            return;
        }
        let (key, session) = (format!("c{client}-{nth}"), format!("http:{}", chance.below(8)));
        let outcome = loop {
            let at = chance.below(WORKERS);
            let Some(endpoint) = endpoints.lock().unwrap()[at].clone() else { continue };
            match ask_once(&endpoint, &key, &session) {
                Ok(outcome) => break outcome,
                Err(answer) => {
                    let now = endpoints.lock().unwrap()[at].clone();
                    if now.is_some_and(|now| now == endpoint) {
                        refused.lock().unwrap().push(format!("{key}: {answer}"));
                    }
                    sleep(Duration::from_millis(50));
                }
            }
        };
        asked.lock().unwrap().push(Asked { key, session, outcome: Some(outcome) });
    }
}

#[test]
fn a_schema_is_migrated_and_workers_are_replaced_one_by_one_while_every_message_is_answered_once() {
    let Some(workers) = Workers::new(WORKERS, "lock_wait = 60") else { return };
    let model = Server::ruled(|request| {
        sleep(Duration::from_millis(30));
        Answer::text(&format!("you said: {}", request.last_content().lines().last().unwrap_or_default()))
    });
    let mut serves: Vec<Option<Serve<'_>>> = (0..WORKERS).map(|nth| Some(workers.serve(nth, &model))).collect();
    // A program that is new compiles its plugins.
    for (nth, serve) in serves.iter().flatten().enumerate() {
        super::turn(serve, "http:first", &nth.to_string());
    }
    let version = workers.sql("SELECT version FROM bub_schema");
    workers.sql(&without(&version));
    let endpoints: Endpoints = Mutex::new(serves.iter().flatten().map(Endpoint::new).map(Some).collect());
    let (ends, asked, refused) = (AtomicBool::new(false), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    // The load goes on through each step.
    let go_on = || go_on(&asked, 2 * CLIENTS);
    scope(|scope| {
        let (_ending, ends, asked, refused, endpoints) = (Ending(&ends), &ends, &asked, &refused, &endpoints);
        for nth in 0..CLIENTS {
            scope.spawn(move || client(nth, ends, endpoints, asked, refused));
        }
        go_on();
        let migrated = workers.homes[0].bub(["store", "migrate"]).finish();
        assert_eq!(migrated.code, Some(0), "{migrated}");
        assert_eq!(workers.sql("SELECT version FROM bub_schema"), version);
        go_on();
        for (nth, running) in serves.iter_mut().enumerate() {
            endpoints.lock().unwrap()[nth] = None;
            let ended = running.take().unwrap().end();
            assert_eq!(ended.code, Some(0), "{ended}");
            go_on();
            let serve = workers.serve(nth, &model);
            while serve.ask("GET", "/readyz").send().status != 200 {
                sleep(Duration::from_millis(50));
            }
            endpoints.lock().unwrap()[nth] = Some(Endpoint::new(&serve));
            *running = Some(serve);
            go_on();
        }
    });
    let (asked, refused) = (asked.into_inner().unwrap(), refused.into_inner().unwrap());
    eprintln!("{} messages", asked.len());
    assert!(refused.is_empty(), "{refused:#?}");
    let failed: Vec<_> = asked.iter().filter_map(|asked| asked.outcome.as_ref()).collect();
    let failed: Vec<_> = failed.into_iter().filter(|outcome| !outcome["error"].is_null()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let wrong = check(Postgres::shared().unwrap(), &workers.address, &asked);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
