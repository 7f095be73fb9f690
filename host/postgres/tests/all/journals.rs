//! Leases and journals of turns: several workers on one database, each with its own connections.

mod recovery;
mod theft;
mod trips;
mod views;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use bub_postgres::{Database, Leases, PostgresJournals, PostgresStore, Settings, Terms, TurnSettings};
use bub_store_tests::message;
use bub_tape::{Journals, Lookup, Tape, Tapes};
use bub_test_support::postgres::Postgres;

/// How long a lease lasts whose process is gone.
const LEASE: Duration = Duration::from_secs(2);

/// Longer than any test waits for a lease that ends.
const PATIENT: Duration = Duration::from_secs(60);

fn call(id: &str) -> String {
    format!(r#"{{"id": "{id}", "function": {{"arguments": "{{}}", "name": "bash"}}, "type": "function"}}"#)
}

fn lookups() -> Vec<Lookup> {
    vec![
        Lookup::Phase,
        Lookup::Anchor,
        Lookup::Kind("system".to_owned()),
        Lookup::event("rare"),
        Lookup::event("never"),
    ]
}

/// The tapes of a process on that database.
async fn worker(address: &str, lock_wait: Duration) -> Tapes {
    let database = Database::connect(Settings::parse(address).unwrap()).await.unwrap();
    let leases = Leases::new(database.clone(), Terms { lease: LEASE, renewal: LEASE / 4 });
    let store = Arc::new(PostgresStore::new(database));
    let settings = TurnSettings { lock_wait, lookups: lookups() };
    let journals = PostgresJournals::new(Arc::clone(&store), leases, settings);
    Tapes::new(store, Arc::new(Journals::over(Arc::new(journals))))
}

/// A database, and a worker on it; `None`: PostgreSQL is not installed.
async fn first() -> Option<(Tapes, String)> {
    let address = Postgres::shared()?.database();
    Some((worker(&address, PATIENT).await, address))
}

/// A process that ends in mid-turn, after `act`: nothing is renewed, released or written any more.
async fn crash<F: Future<Output = ()>>(address: &str, act: impl FnOnce(Tapes, Tape) -> F + Send + 'static) {
    let address = address.to_owned();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let tapes = worker(&address, PATIENT).await;
            let (turn, _) = tapes.begin(bub_store_tests::NAME).await.unwrap();
            // Dropped, they would release the lease.
            std::mem::forget((tapes.clone(), turn.clone()));
            act(tapes, turn).await;
        });
        runtime.shutdown_background();
    });
    while !thread.is_finished() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    thread.join().unwrap();
}

/// A turn that says something.
async fn say(tapes: &Tapes, text: &str) {
    let (turn, recovered) = tapes.begin(bub_store_tests::NAME).await.unwrap();
    assert_eq!(recovered, None);
    turn.append(vec![message("user", text)]).await.unwrap();
    turn.merge().await.unwrap();
    turn.close();
}
