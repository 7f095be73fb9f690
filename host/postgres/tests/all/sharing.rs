//! Rows that workers share: breakers, plugins, and the workers themselves.

use std::time::Duration;

use bub_postgres::{BreakerTable, Database, NewPlugin, PluginKind, PluginTable, Settings, Swap, WorkerTable, workers};
use bub_test_support::postgres::Postgres;

async fn database() -> Option<(Database, &'static Postgres, String)> {
    let postgres = Postgres::shared()?;
    let address = postgres.database();
    Some((Database::connect(Settings::parse(&address).unwrap()).await.unwrap(), postgres, address))
}

#[tokio::test]
async fn of_two_changes_of_a_breaker_one_is_done_and_the_other_is_told() {
    let Some((database, ..)) = database().await else { return };
    let table = BreakerTable::new(database);
    let Swap::Done(Some(first)) = table.swap("d", "h", None, Some(b"1")).await.unwrap() else { panic!("it is new") };
    assert_eq!(table.swap("d", "h", None, Some(b"2")).await.unwrap(), Swap::Changed);
    let Swap::Done(Some(second)) = table.swap("d", "h", Some(first), Some(b"3")).await.unwrap() else {
        panic!("nothing was in between")
    };
    assert_eq!(table.swap("d", "h", Some(first), Some(b"4")).await.unwrap(), Swap::Changed);
    assert_eq!(table.get("d", "h").await.unwrap().unwrap().state, b"3");
    assert_eq!(table.swap("d", "h", Some(second), None).await.unwrap(), Swap::Done(None));
    // A change that has not seen the removal does not bring the row back.
    assert_eq!(table.swap("d", "h", Some(second), Some(b"5")).await.unwrap(), Swap::Changed);
    let (now, rows) = table.read().await.unwrap();
    assert!(rows.is_empty() && now > 1.7e9, "{now} {rows:?}");
}

#[tokio::test]
async fn a_plugin_names_its_predecessor_and_its_file_is_kept_while_a_row_names_it() {
    let Some((database, postgres, address)) = database().await else { return };
    let table = PluginTable::new(database);
    let digest = postgres.sql("postgres", "SELECT encode(sha256('bytes'), 'hex')");
    assert!(table.add_file(&digest, b"bytes").await.unwrap());
    assert!(!table.add_file(&digest, b"bytes").await.unwrap());
    let new = NewPlugin {
        kind: PluginKind::Plugin,
        name: "p",
        digest: Some(&digest),
        settings: Some("enabled = true"),
        host: "a",
        base: None,
    };
    let first = table.put(new).await.unwrap();
    assert_eq!(first.replaced, None);
    let second = table.put(NewPlugin { host: "b", base: Some(&first.stamp), ..new }).await.unwrap();
    assert_eq!(second.replaced, Some((first.stamp.clone(), first.version, "a".to_owned())));
    assert!(second.version > first.version && second.stamp != first.stamp);
    let row = table.get(PluginKind::Plugin, "p").await.unwrap().unwrap();
    assert_eq!((row.host.as_str(), row.base), ("b", Some(first.stamp)));
    assert_eq!(table.versions().await.unwrap().len(), 1);
    postgres.sql(&address, "UPDATE plugin_file SET at = clock_timestamp() - interval '2 hours'");
    table.sweep().await.unwrap();
    assert_eq!(table.file(&digest, 5).await.unwrap().as_deref(), Some(b"bytes".as_slice()));
    assert_eq!(table.file(&digest, 4).await.unwrap(), None, "it is larger than that");
    postgres.sql(&address, "UPDATE plugin_file SET bytes = 'x'");
    assert!(table.add_file(&digest, b"bytes").await.unwrap(), "a damaged file is replaced");
    table.put(NewPlugin { digest: None, settings: None, ..new }).await.unwrap();
    table.sweep().await.unwrap();
    assert!(table.file(&digest, 5).await.unwrap().is_some(), "its row may be still to come");
    postgres.sql(&address, "UPDATE plugin_file SET at = clock_timestamp() - interval '2 hours'");
    table.sweep().await.unwrap();
    assert_eq!(table.file(&digest, 5).await.unwrap(), None);
}

#[tokio::test]
async fn workers_are_listed_until_they_end_or_are_silent_for_a_day() {
    let Some((database, postgres, address)) = database().await else { return };
    let (one, two) = (WorkerTable::new(database.clone()).unwrap(), WorkerTable::new(database.clone()).unwrap());
    one.report("host-a", "0.1.0", "{\"p\":\"d\"}").await.unwrap();
    two.report("host-b", "0.1.0", "{}").await.unwrap();
    one.report("host-a", "0.1.0", "{\"p\":\"e\"}").await.unwrap();
    let all = workers(&database).await.unwrap();
    let shown: Vec<_> = all.iter().map(|worker| (worker.host.as_str(), worker.plugins.as_str())).collect();
    assert_eq!(shown, [("host-a", "{\"p\":\"e\"}"), ("host-b", "{}")]);
    assert!(all.iter().all(|worker| worker.seen < Duration::from_secs(60) && worker.started >= worker.seen));
    two.remove().await.unwrap();
    postgres.sql(&address, "UPDATE worker SET seen = seen - interval '2 days'");
    let three = WorkerTable::new(database.clone()).unwrap();
    three.report("host-c", "0.1.0", "{}").await.unwrap();
    assert_eq!(workers(&database).await.unwrap().len(), 1);
}
