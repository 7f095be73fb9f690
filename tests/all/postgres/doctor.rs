//! The report of `doctor` on a database.

use bub_test_support::postgres::{Postgres, Standby};
use bub_tests::Home;
use serde_json::Value;
use std::time::Duration;

use super::databased;
use crate::home;

/// The findings of `doctor`, its exit code, and the texts under a name with their state before them.
struct Findings(Value, Option<i32>);

#[track_caller]
fn doctor(home: &Home) -> Findings {
    let finished = home.bub(["doctor", "--json"]).finish();
    let all = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{finished}"));
    Findings(all, finished.code)
}

impl Findings {
    #[track_caller]
    fn says(&self, what: &str, text: &str) {
        let all = self.0["findings"].as_array().unwrap();
        let found = all.iter().filter(|found| found["what"].as_str().unwrap().starts_with(what));
        let text_of = |found: &Value, key: &str| found[key].as_str().unwrap_or_default().to_owned();
        let said: Vec<String> = found.map(|found| text_of(found, "state") + ": " + &text_of(found, "text")).collect();
        assert!(said.len() == 1 && said[0].contains(text), "expected `{text}` of `{what}` among {said:?} of {all:#?}");
    }
}

fn name(address: &str) -> &str {
    address.split(['/', '?']).nth(3).unwrap()
}

#[test]
fn a_database_that_is_well_has_a_line_for_each_thing_that_was_looked_at() {
    let Some((home, ..)) = databased("") else { return };
    doctor(&home).says("database schema", "note: there are no tables yet; the next start makes them");
    home.run(["hello"]).finish();
    let found = doctor(&home);
    found.says("database `postgres://", "ok: PostgreSQL 1");
    found.says("database schema", "ok: version ");
    found.says("database encoding", "ok: UTF8, collation C; names are in the order of their bytes");
    found.says("database isolation", "ok: read committed");
    found.says("database pooler", "ok: none, or one by session");
    found.says("database writes", "ok: allowed");
    found.says("database durability", "ok: `synchronous_commit` is on; there is no standby");
    found.says("database clock", "ok: differs by 0.0");
    found.says("database connections", "ok: ");
    found.says("database disk", "ok: the database has ");
    assert_eq!(found.1, Some(0), "{:#}", found.0);
}

#[test]
fn settings_that_lose_or_refuse_answers_are_reported_with_a_remedy() {
    let Some((home, postgres, address)) = databased("") else { return };
    home.run(["hello"]).finish();
    let set = |setting: &str| postgres.sql("postgres", &format!("ALTER DATABASE {} SET {setting}", name(&address)));
    set("synchronous_commit = off");
    doctor(&home).says("database durability", "note: `synchronous_commit` is off: a crash of the server loses");
    set("default_transaction_read_only = on");
    let found = doctor(&home);
    found.says(
        "database writes",
        "wrong: it is read-only: `ALTER DATABASE` it `SET default_transaction_read_only = off`",
    );
    assert_eq!(found.1, Some(1));
    set("default_transaction_read_only = off");
    postgres.sql(&address, "ALTER TABLE lease ALTER COLUMN name TYPE text COLLATE \"default\"");
    doctor(&home).says(
        "database encoding",
        "wrong: UTF8, collation C; 1 column has names in another order than `COLLATE \"C\"`: restore the tables as",
    );
    postgres.sql(&address, "UPDATE bub_schema SET version = 99, oldest = 99");
    let found = doctor(&home);
    found.says("database schema", "wrong: version 99 is not for this program");
    found.says("database clock", "ok");
    assert_eq!(found.1, Some(1));
    postgres.sql(
        "postgres",
        &format!("CREATE USER few CONNECTION LIMIT 2; GRANT ALL ON DATABASE {} TO few", name(&address)),
    );
    home.configure(&format!("tape_store = \"{}\"", address.replace("user=bub", "user=few")));
    let found = doctor(&home);
    found.says("database `postgres://", "wrong: open the tapes in `postgres://");
    assert_eq!(found.0["findings"].as_array().unwrap().len(), 2, "{:#}", found.0);
}

#[test]
fn a_database_that_is_away_is_one_line_of_doctor() {
    let home = home();
    let away = "postgres://bub@127.0.0.1:9/bub";
    home.configure(&format!("tape_store = {away:?}"));
    let shown = home.bub(["doctor"]).finish();
    let line = format!(
        "wrong database `{away}`: open the tapes in `{away}`: the database cannot be reached: Connection refused"
    );
    assert!(shown.stdout.lines().any(|shown| shown.starts_with(&line)), "{shown}");
    assert!(shown.code == Some(1) && shown.stderr.is_empty(), "{shown}");
}

#[test]
fn standbys_are_told_with_how_far_they_are_and_a_standby_is_named_as_one() {
    let Some(postgres) = Postgres::start(&[]) else { return };
    let (home, address) = (home(), postgres.database());
    home.configure(&format!("tape_store = {address:?}"));
    home.run(["hello"]).finish();
    let standby = Standby::start(&postgres);
    let found = doctor(&home);
    found.says(
        "database durability",
        "note: `synchronous_commit` is on, and no standby is synchronous: a failover can lose",
    );
    found.says("standby `other`", "ok: async, ");
    standby.make_synchronous(&postgres);
    doctor(&home).says("database durability", "ok: `synchronous_commit` is on, with the standbys `other`");
    let user = "CREATE USER plain; GRANT pg_read_all_data, pg_write_all_data TO plain";
    postgres.sql(&address, user);
    let plain = address.replace("user=bub", "user=plain");
    home.configure(&format!("tape_store = {plain:?}"));
    doctor(&home).says("standby `", "note: its state is not visible: `GRANT pg_read_all_stats` to the user");
    home.configure(&format!("tape_store = {:?}", standby.address(&address)));
    let found = doctor(&home);
    found
        .says("database writes", "wrong: it is a standby: name the primary, or all servers with `target_session_attrs");
    assert_eq!(found.1, Some(1));
    drop(standby);
    home.configure(&format!("tape_store = {address:?}"));
    until(|| postgres.sql("postgres", "SELECT count(*) FROM pg_stat_replication") == "0");
    doctor(&home).says(
        "database durability",
        "wrong: `synchronous_commit` is on, and no standby of `other` is there: writes wait",
    );
}

#[track_caller]
fn until(is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("it did not happen");
}
