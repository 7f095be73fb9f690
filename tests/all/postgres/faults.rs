//! A database that fails: each failure has a line, and nothing that was said is lost.

use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Finished, Home, Server};
use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use super::databased;
use crate::home;

fn on(address: &str) -> Home {
    let home = home();
    home.configure(&format!("tape_store = {address:?}"));
    home
}

/// A turn that could not be stored: it says so in one line, and the next one has what was said in it.
#[track_caller]
fn failed(finished: &Finished, naming: &str) {
    // That the usage is kept until then is a line of its own.
    let lines =
        finished.stderr.lines().filter(|line| line.contains(naming) && !line.contains("what models used is kept"));
    let lines: Vec<&str> = lines.collect();
    assert!(
        finished.code == Some(1) && lines.len() == 1,
        "expected exit code 1 and one line with `{naming}`\n{finished}"
    );
}

#[track_caller]
fn next_turn_knows(home: &Home, said: &str) {
    let server = Server::new([Answer::text("here")]);
    home.run(["go on"]).model(&server).finish().answers();
    assert!(server.requests()[0].body.contains(said), "`{said}` is lost: {}", server.requests()[0].body);
}

#[test]
fn a_database_that_ends_in_the_middle_of_a_turn_ends_the_turn_and_the_next_one_goes_on() {
    let Some(postgres) = Postgres::start(&[]) else { return };
    let address = postgres.database();
    let (home, postgres) = (on(&address), Arc::new(Mutex::new(postgres)));
    let stopped = postgres.clone();
    let of_turn = address.clone();
    let server = Server::ruled(move |_| {
        let mut postgres = stopped.lock().unwrap();
        // The prompt is on its way to the journal while the model is asked, and there before the model's answer is used.
        while postgres.sql(&of_turn, "SELECT count(*) FROM journal") == "0" {
            sleep(Duration::from_millis(5));
        }
        postgres.stop();
        Answer::text("an answer")
    });
    let finished = home.run(["the number is 4711"]).model(&server).finish();
    failed(&finished, "the database cannot be reached");
    home.run(["hello"])
        .model(&server)
        .finish()
        .refuses(&["open the tapes in `postgres:///", "the database cannot be reached"]);
    assert_eq!(server.requests().len(), 1, "no model is asked without the tapes");
    postgres.lock().unwrap().start_again();
    next_turn_knows(&home, "the number is 4711");
}

#[test]
fn a_database_that_becomes_read_only_in_the_middle_of_a_turn_loses_nothing() {
    let Some((home, postgres, address)) = databased("") else { return };
    home.run(["hello"]).finish();
    let name = address.split(['/', '?']).nth(3).unwrap().to_owned();
    let alter = move |value: &str| {
        postgres.sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}"));
        postgres.sql(
            "postgres",
            &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
        );
    };
    let writable = alter.clone();
    let server = Server::ruled(move |_| {
        alter("on");
        Answer::text("an answer")
    });
    let finished = home.run(["the number is 4711"]).model(&server).finish();
    failed(&finished, "the database can only be read: it is a standby, or set to read-only");
    writable("off");
    next_turn_knows(&home, "the number is 4711");
}

#[test]
fn a_database_without_a_connection_left_is_named_at_the_start() {
    let Some((home, postgres, address)) = databased("") else { return };
    let server = Server::new([Answer::text("one")]);
    home.run(["hello"]).model(&server).finish().says("[cli:local]\none\n");
    postgres.sql("postgres", "CREATE USER crowded CONNECTION LIMIT 0");
    home.configure(&format!("tape_store = \"{}\"", address.replace("user=bub", "user=crowded")));
    let line = "the database has no connection left: raise its `max_connections`, or put a pooler in front";
    home.run(["hello"]).model(&server).finish().refuses(&[line]);
    home.bub(["serve", "--check"]).finish().refuses(&[line]);
}

#[test]
fn a_database_whose_disk_is_full_ends_the_turn_and_the_next_one_goes_on() {
    let Some((home, postgres, address)) = databased("") else { return };
    home.run(["hello"]).finish();
    // The server's own code for it.
    postgres.sql(
        &address,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION \
         'could not extend file \"base/1/2\": No space left on device' USING ERRCODE = '53100'; END $$; \
         CREATE TRIGGER full_disk BEFORE INSERT ON entry EXECUTE FUNCTION full_disk()",
    );
    let server = Server::new([Answer::text("an answer")]);
    let finished = home.run(["the number is 4711"]).model(&server).finish();
    failed(&finished, "the database's disk is full");
    postgres.sql(&address, "DROP TRIGGER full_disk ON entry");
    next_turn_knows(&home, "the number is 4711");
}

/// A small file system. Ends when this is dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// `None`: the tests may not mount one.
    fn mount(postgres: &Postgres) -> Option<Self> {
        let dir = postgres.dir().join("small");
        fs::create_dir(&dir).ok()?;
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m,mode=700", "small"]).arg(&dir).output().ok()?;
        if !mounted.status.success() {
            eprintln!("skipped: a file system cannot be mounted here");
            return None;
        }
        let (user, group) = postgres.user()?;
        std::os::unix::fs::chown(&dir, Some(user), Some(group)).expect("root may do that");
        Some(Self(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn tables_on_a_disk_that_is_really_full_lose_nothing() {
    let Some(postgres) = Postgres::start(&[]) else { return };
    let Some(disk) = SmallDisk::mount(&postgres) else { return };
    let address = postgres.database();
    let home = on(&address);
    home.run(["hello"]).finish();
    postgres.sql("postgres", &format!("CREATE TABLESPACE small LOCATION '{}'", disk.0.display()));
    for table in ["TABLE entry", "INDEX entry_pkey", "INDEX entry_kind"] {
        postgres.sql(&address, &format!("ALTER {table} SET TABLESPACE small"));
    }
    postgres.sql(&address, "ALTER TABLE entry ALTER COLUMN payload SET STORAGE EXTERNAL");
    let server = Server::new([Answer::text("an answer")]);
    let long = format!("the number is 4711 {}", "a heron at the river ".repeat(45_000));
    let finished = home.run([]).input(&long).model(&server).finish();
    failed(&finished, "the database's disk is full");
    postgres.sql(&address, "ALTER TABLE entry SET TABLESPACE pg_default");
    let entries = postgres.sql(&address, "SELECT count(*) FROM entry").parse::<u32>().unwrap();
    home.bub(["tape", "handoff", "after"]).finish().answers();
    let found = home.bub(["tape", "search", "4711"]).finish();
    assert!(found.stdout.contains("the number is 4711"), "{entries} entries before: {found}");
}
