//! Actions that are given up, as those of a turn that is stopped.

use std::time::Duration;

use bub_store_tests::{NAME, contents, message};
use bub_tape::Store;
use bub_test_support::postgres::Postgres;

use super::proxy::Proxy;
use super::{open, open_with, store};

/// A store with one connection through a proxy, one without a proxy, and the proxy.
async fn two_stores() -> Option<(bub_postgres::PostgresStore, bub_postgres::PostgresStore, Proxy)> {
    let server = Postgres::shared()?;
    let (address, proxy) = (server.database(), Proxy::new(server));
    let name = address.split(['/', '?']).nth(3).unwrap();
    let through = open_with(&proxy.address(name), |settings| settings.with_connections(1)).await;
    through.append(NAME, vec![message("user", "first")], None).await.unwrap();
    Some((through, open(&address).await, proxy))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_after_a_transaction_that_was_cancelled_while_it_began_is_kept() {
    let Some((through, direct, proxy)) = two_stores().await else { return };
    proxy.hold();
    tokio::select! {
        biased;
        () = proxy.sent("BEGIN") => {}
        _ = through.reset(NAME, false) => panic!("nothing is answered"),
    }
    proxy.release();
    through.append(NAME, vec![message("user", "second")], None).await.unwrap();
    assert_eq!(contents(&direct.read(NAME, 0, 9).await.unwrap()), ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_waits_for_the_answer_to_a_query_that_was_given_up() {
    let Some((through, _, proxy)) = two_stores().await else { return };
    through.read(NAME, 0, 9).await.unwrap();
    proxy.hold();
    tokio::select! {
        biased;
        () = proxy.sent(NAME) => {}
        _ = through.read(NAME, 0, 9) => panic!("nothing is answered"),
    }
    // Its answer never comes; the store has one connection, and makes another.
    assert_eq!(contents(&through.read(NAME, 0, 9).await.unwrap()), ["first"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_an_administrator_ended_is_made_again() {
    let Some((store, address)) = store().await else { return };
    store.append(NAME, vec![message("user", "first")], None).await.unwrap();
    store.append("aaaa__other", vec![message("user", "reset")], None).await.unwrap();
    store.reset("aaaa__other", false).await.unwrap();
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND \
               application_name = 'bub-wasm'";
    for count in 0..20 {
        Postgres::shared().unwrap().sql(&address, end);
        assert_eq!(store.reset("aaaa__other", true).await.unwrap(), None, "{count}");
        Postgres::shared().unwrap().sql(&address, end);
        assert_eq!(contents(&store.read(NAME, 0, 9).await.unwrap()), ["first"], "{count}");
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_leaves_no_open_transaction() {
    let Some((store, address)) = store().await else { return };
    store.append(NAME, vec![message("user", "x")], None).await.unwrap();
    for wait in 0..20 {
        let reset = store.reset(NAME, true);
        let _cancelled = tokio::time::timeout(Duration::from_micros(wait * 200), reset).await;
        store.append(NAME, vec![message("user", "y")], None).await.unwrap();
    }
    let other = open(&address).await;
    other.append(NAME, vec![message("user", "z")], None).await.unwrap();
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'";
    assert_eq!(Postgres::shared().unwrap().sql(&address, open), "0");
}
