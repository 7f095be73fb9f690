//! Tapes in a real PostgreSQL, which the tests start.

mod cancellation;
mod examine;
mod failover;
mod faults;
mod indexes;
mod journals;
mod leases;
mod migrations;
mod pooler;
mod proxy;
mod settings;
mod sharing;
mod stores;
mod tls;
mod transfer;
mod usage;

use std::sync::Arc;

use bub_postgres::{Database, PostgresStore, Settings};
use bub_test_support::postgres::Postgres;

/// A store in a database of its own, and the database's address; `None`: PostgreSQL is not installed.
async fn store() -> Option<(Arc<PostgresStore>, String)> {
    let address = Postgres::shared()?.database();
    Some((Arc::new(open(&address).await), address))
}

async fn open(address: &str) -> PostgresStore {
    PostgresStore::new(Database::connect(Settings::parse(address).unwrap()).await.unwrap())
}

/// A store in a database that is reached under other settings.
async fn open_with(address: &str, with: impl FnOnce(Settings) -> Settings) -> PostgresStore {
    PostgresStore::new(Database::connect(with(Settings::parse(address).unwrap())).await.unwrap())
}

async fn refusal(address: &str) -> String {
    match Database::connect(Settings::parse(address).unwrap()).await {
        Ok(_) => panic!("`{address}` was opened"),
        Err(error) => error.to_string(),
    }
}
