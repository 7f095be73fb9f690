//! The schema, and programs of other versions.

use bub_postgres::migrations::{Status, VERSION, needs_consent, status};
use bub_postgres::status::{migrate, schema};
use bub_postgres::{Database, Settings};
use bub_store_tests::{NAME, contents, message};
use bub_tape::Store;
use bub_test_support::postgres::Postgres;

use super::{open, refusal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_start_together_make_one_schema() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let openings: Vec<_> = (0..8)
        .map(|n: u32| {
            let address = address.clone();
            tokio::spawn(async move {
                open(&address).await.append(NAME, vec![message("user", &n.to_string())], None).await.unwrap()
            })
        })
        .collect();
    let mut ids = Vec::new();
    for opening in openings {
        ids.push(opening.await.unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=8).collect::<Vec<u64>>());
    let database = Database::connect(Settings::parse(&address).unwrap()).await.unwrap();
    assert_eq!(status(&database).await.unwrap(), Status { version: VERSION, oldest: 1 });
}

#[tokio::test]
async fn a_newer_schema_is_used_as_long_as_it_serves_this_program() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    open(&address).await.append(NAME, vec![message("user", "one")], None).await.unwrap();
    let newer = VERSION + 1;
    server.sql(&address, &format!("UPDATE bub_schema SET version = {newer}, oldest = {VERSION}"));
    // Statements that an expanding migration may contain.
    server.sql(&address, "ALTER TABLE entry ADD COLUMN extra text; ALTER TABLE tape ADD COLUMN extra int DEFAULT 7");
    let store = open(&address).await;
    store.append(NAME, vec![message("user", "two")], None).await.unwrap();
    let archive = store.reset(NAME, true).await.unwrap().unwrap();
    assert_eq!(contents(&store.read(&archive, 0, 9).await.unwrap()), ["one", "two"]);
    server.sql(&address, &format!("UPDATE bub_schema SET oldest = {newer}"));
    let refused = refusal(&address).await;
    let expected = format!("are of version {newer}, and this program reads up to version {VERSION}: use the program");
    assert!(refused.contains(&expected), "{refused}");
    assert_eq!(store.last_id(NAME).await.unwrap(), 0, "a started program goes on");
}

#[tokio::test]
async fn a_column_that_is_added_while_programs_run_disturbs_none() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let store = open(&address).await;
    for n in 0..3 {
        store.append(NAME, vec![message("user", &n.to_string())], None).await.unwrap();
        assert_eq!(store.read(NAME, 0, 9).await.unwrap().len(), n + 1);
        server.sql(&address, &format!("ALTER TABLE entry ADD COLUMN extra{n} text"));
    }
    assert_eq!(contents(&store.tail(NAME, None, 2).await.unwrap()), ["1", "2"]);
}

#[tokio::test]
async fn a_migration_that_does_not_end_leaves_nothing() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    // In the way of the migration's last function.
    server.sql(&address, "CREATE TABLE gram (x int)");
    let refused = refusal(&address).await;
    assert!(refused.contains("relation \"gram\" already exists") && refused.lines().count() == 1, "{refused}");
    assert_eq!(server.sql(&address, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "1");
    server.sql(&address, "DROP TABLE gram");
    open(&address).await.append(NAME, vec![message("user", "x")], None).await.unwrap();
}

#[test]
fn a_start_makes_no_migration_that_excludes_programs_which_could_use_the_schema() {
    let found = |version, oldest| Status { version, oldest };
    // Versions 1 to 4, of which the fourth drops what the second no longer uses.
    let oldest = [1, 1, 1, 3];
    assert!(!needs_consent(found(0, 0), &oldest), "an empty database excludes none");
    assert!(!needs_consent(found(1, 1), &oldest[..3]));
    assert!(needs_consent(found(1, 1), &oldest) && needs_consent(found(3, 1), &oldest));
    assert!(!needs_consent(found(4, 3), &oldest), "nothing is left to do");
    assert!(!needs_consent(found(3, 3), &oldest), "it excludes none that was not excluded before");
}

#[tokio::test]
async fn the_state_of_a_schema_is_read_without_a_change_and_migrations_are_told() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let settings = || Settings::parse(&address).unwrap();
    let empty = schema(settings()).await.unwrap();
    assert_eq!((empty.found, empty.reads), (Status { version: 0, oldest: 0 }, VERSION));
    assert_eq!(empty.pending, (1..=VERSION).collect::<Vec<_>>());
    assert!(empty.is_usable() && !empty.needs_consent);
    assert_eq!(server.sql(&address, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    let (before, after) = migrate(settings()).await.unwrap();
    assert_eq!((before.found.version, after.found.version), (0, VERSION));
    assert!(after.pending.is_empty());
    assert_eq!(migrate(settings()).await.unwrap(), (after.clone(), after), "a second one changes nothing");
    let newer = VERSION + 1;
    server.sql(&address, &format!("UPDATE bub_schema SET version = {newer}, oldest = {newer}"));
    assert!(!schema(settings()).await.unwrap().is_usable());
    assert!(migrate(settings()).await.unwrap_err().to_string().contains("use the program that wrote them"));
}
