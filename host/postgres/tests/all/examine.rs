//! Examination of a database, directly and by way of poolers.

use bub_postgres::Settings;
use bub_postgres::examine::{Facts, Pooling, examine};
use bub_test_support::postgres::Postgres;

use super::pooler::Pooler;

async fn facts(address: &str) -> Facts {
    examine(Settings::parse(address).unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_pooler_is_examined() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let found = facts(&address).await;
    assert_eq!((found.pooling, found.schema.found.version), (Pooling::Sessions, 0));
    assert!(found.major >= 15 && found.clock_ahead.abs() < 1.0, "{found:?}");
    assert!(found.unlimited.is_empty() && found.isolation == "read committed", "{found:?}");
    assert!(found.free.is_some() && found.size > 0 && found.max_connections == 400, "{found:?}");
    server.sql("postgres", "CREATE USER limited CONNECTION LIMIT 7");
    let found = facts(&address.replace("user=bub", "user=limited")).await;
    assert!(found.max_connections == 7 && found.free.is_none() && !found.sees_standbys, "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_mode_of_a_pooler_is_found_out() {
    let base = "ignore_startup_parameters = options";
    let Some(by_session) = Pooler::start(&format!("pool_mode = session\n{base}")) else { return };
    let address = Postgres::shared().unwrap().database();
    let found = facts(&by_session.address(&address)).await;
    assert_eq!(found.pooling, Pooling::Sessions);
    assert_eq!(found.unlimited, ["idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"]);
    for order in ["server_round_robin = 0", "server_round_robin = 1"] {
        let statements = if by_session.keeps_statements { "\nmax_prepared_statements = 200" } else { "" };
        let by_transaction = Pooler::start(&format!("pool_mode = transaction\n{base}\n{order}{statements}")).unwrap();
        let keeps_statements = Some(by_session.keeps_statements);
        let found = facts(&by_transaction.address(&address)).await;
        assert_eq!(found.pooling, Pooling::Transactions { keeps_statements }, "{order}");
    }
    let single = Pooler::start(&format!("pool_mode = transaction\n{base}\ndefault_pool_size = 1")).unwrap();
    let found = facts(&single.address(&address)).await;
    assert_eq!(found.pooling, Pooling::Transactions { keeps_statements: None });
}
