//! `store status`, `store migrate` and `store copy`.

use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Home, Server};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

use super::databased;
use crate::home;

#[track_caller]
fn status(home: &Home, arguments: &[&str]) -> Value {
    let finished = home.bub(["store", "status", "--json"].iter().chain(arguments).copied()).finish();
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{finished}"))
}

#[test]
fn the_status_of_each_store_lists_its_content_and_creates_nothing() {
    let home = home();
    let shown = home.bub(["store", "status"]).finish();
    assert_eq!(shown.stdout, format!("store: files:{}\nholds: nothing yet\n", home.tapes_dir().display()), "{shown}");
    home.run(["hello"]).finish();
    assert_eq!(status(&home, &[])["tapes"], 1);
    assert_eq!(status(&home, &["sqlite:tapes.sqlite"])["tapes"], Value::Null);
    assert!(!home.bub_home().join("tapes.sqlite").exists(), "a look makes no database");
    let migrated = home.bub(["store", "migrate"]).finish();
    assert!(migrated.code == Some(0) && migrated.stdout.ends_with("has no migrations\n"), "{migrated}");
    home.bub(["store", "status", "mysql:x"]).finish().refuses(&["`mysql:x` is none of `files`, `files:DIR`"]);
}

#[test]
fn tables_are_made_by_migrate_and_their_versions_are_shown() {
    let Some((home, postgres, address)) = databased("") else { return };
    let shown = status(&home, &[]);
    assert_eq!((&shown["schema"]["version"], &shown["tapes"]), (&json!(0), &Value::Null));
    assert_eq!(shown["schema"]["pending"][0], 1);
    let migrated = home.bub(["store", "migrate"]).finish();
    let reads = shown["schema"]["reads"].as_i64().unwrap();
    assert_eq!(migrated.stdout, format!("`{address}` was migrated from version 0 to version {reads}\n"));
    let again = home.bub(["store", "migrate", "--json"]).finish();
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again, json!({ "store": address, "from": reads, "to": reads }));
    let shown = home.bub(["store", "status"]).finish();
    let oldest = status(&home, &[])["schema"]["oldest"].clone();
    let expected = format!(
        "store: {address}\nschema: version {reads}, for programs from version {oldest} on; this program reads version {reads}\n\
         migrations: none are pending\nholds: 0 tapes, 0 sidecars, 0 archives\n"
    );
    assert_eq!((shown.stdout, shown.code), (expected, Some(0)));
    // A program of the next version extended them, then one that this program cannot follow.
    let newer = reads + 1;
    postgres.sql(&address, &format!("UPDATE bub_schema SET version = {newer}, oldest = {reads}"));
    let server = Server::new([Answer::text("one")]);
    home.run(["hello"]).model(&server).finish().says("[cli:local]\none\n");
    assert_eq!(status(&home, &[])["schema"]["usable"], true);
    postgres.sql(&address, &format!("UPDATE bub_schema SET oldest = {newer}"));
    let refused = home.bub(["store", "status"]).finish();
    assert!(refused.code == Some(1) && refused.stdout.contains("and cannot use it: use the program"), "{refused}");
    let line =
        format!("are of version {newer}, and this program reads up to version {reads}: use the program that wrote");
    home.run(["hello"]).model(&server).finish().refuses(&[&line]);
    home.bub(["store", "migrate"]).finish().refuses(&[&line]);
}

#[test]
fn tables_of_the_first_version_are_extended_and_turns_go_on() {
    let Some((home, postgres, address)) = databased("") else { return };
    let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("../postgres/migrations/001.sql");
    postgres.sql(&address, &fs::read_to_string(first).unwrap());
    let pending = status(&home, &[])["schema"]["pending"].clone();
    let reads = status(&home, &[])["schema"]["reads"].as_i64().unwrap();
    assert_eq!(pending, json!((2..=reads).collect::<Vec<_>>()));
    let server = Server::new(["one", "two"].map(Answer::text));
    home.run(["hello"]).model(&server).finish().says("[cli:local]\none\n");
    assert_eq!(status(&home, &[])["schema"]["version"], reads);
    home.run(["hello"]).model(&server).finish().says("[cli:local]\ntwo\n");
}

#[test]
fn a_conversation_goes_on_in_the_copy_of_its_store_and_in_the_copy_of_that() {
    let Some(postgres) = Postgres::shared() else { return };
    let (home, address) = (home(), postgres.database());
    let server = Server::new(["one", "two", "three", "four"].map(Answer::text));
    home.run(["the number is 4711"]).model(&server).finish().says("[cli:local]\none\n");
    home.run(["archived", "--session-id", "cli:old"]).model(&server).finish();
    home.bub(["tape", "reset", "--session", "cli:old", "--yes"]).finish();
    let copy = |from: &str, to: &str| home.bub(["store", "copy", from, to]).finish();
    let first = copy("files", &address);
    assert_eq!(first.code, Some(0), "{first}");
    assert!(first.stdout.contains(" of 1 tape, 3 sidecars and 3 archives: all are the same\n"), "{first}");
    assert!(first.stdout.ends_with(&format!("`tape_store = \"{address}\"` in config.toml uses the copy\n")), "{first}");
    let again = copy("files", &address);
    assert!(again.stdout.starts_with("wrote 0 entries\n") && again.code == Some(0), "{again}");
    home.configure(&format!("tape_store = {address:?}"));
    home.run(["which number?"]).model(&server).finish().says("[cli:local]\nthree\n");
    assert!(server.requests()[2].body.contains("the number is 4711"));
    copy("files", &address).refuses(&[
        "was not copied to",
        "the target has other entries under",
        "is not in the source",
    ]);
    for (from, to) in [(address.as_str(), "sqlite:copy.sqlite"), ("sqlite:copy.sqlite", "files:copies/files")] {
        let copied = home.bub(["store", "copy", "--json", from, to]).finish();
        let copied: Value = serde_json::from_str(&copied.stdout).unwrap_or_else(|error| panic!("{error}: {copied}"));
        assert!(copied["difference"].is_null() && copied["entries"] == copied["written"], "{copied}");
    }
    home.configure("tape_store = \"sqlite:copy.sqlite\"");
    home.run(["which number?"]).model(&server).finish().says("[cli:local]\nfour\n");
    assert!(server.requests()[3].body.contains("the number is 4711"));
    let (old, new) = (home.tape_file("cli:local"), home.bub_home().join("copies/files"));
    let (old, new) = (fs::read(&old).unwrap(), fs::read(new.join(old.file_name().unwrap())).unwrap());
    assert!(new.starts_with(&old) && new.len() > old.len(), "the lines came back byte for byte");
    copy("files", "files").refuses(&["are the same store"]);
    copy("files:missing", "sqlite:x").refuses(&["there are no tapes in `files:"]);
}

#[test]
fn a_copy_that_is_killed_again_and_again_ends_with_the_same_content() {
    let Some(postgres) = Postgres::shared() else { return };
    let home = home();
    let dir = home.tapes_dir();
    fs::create_dir_all(&dir).unwrap();
    let line = |id: u64| {
        let text = "a heron at the river ".repeat(20);
        format!(
            "{{\"id\": {id}, \"kind\": \"message\", \"payload\": {{\"role\": \"user\", \"content\": \"{text}\"}}, \"meta\": {{}}, \"date\": \"2026-11-21T02:36:22+00:00\"}}\n"
        )
    };
    for tape in 0..8 {
        let lines: String = (1..3000).map(|id| line(id * 2)).collect();
        fs::write(dir.join(format!("aaaa__{tape}.jsonl")), lines).unwrap();
    }
    for to in [postgres.database(), "sqlite:copy.sqlite".to_owned(), "files:copy".to_owned()] {
        let mut kills = 0;
        let finished = loop {
            let copy = home.bub(["store", "copy", "--json", "files", &to]).start();
            // Later and later, so that each attempt gets further.
            std::thread::sleep(std::time::Duration::from_millis(150 + 100 * kills));
            if kills >= 6 {
                break copy.finish();
            }
            copy.kill();
            kills += 1;
        };
        let copied: Value =
            serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished}"));
        assert_eq!((&copied["tapes"], &copied["entries"]), (&json!(8), &json!(8 * 2999)), "{to}: {copied}");
        assert!(copied["difference"].is_null(), "{copied}");
        let again = home.bub(["store", "copy", "--json", "files", &to]).finish();
        assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap()["written"], 0, "{again}");
    }
    for file in
        fs::read_dir(&dir).unwrap().flatten().filter(|file| file.path().extension().is_some_and(|end| end == "jsonl"))
    {
        let copy = home.bub_home().join("copy").join(file.file_name());
        assert!(fs::read(file.path()).unwrap() == fs::read(copy).unwrap(), "{:?}", file.file_name());
    }
    let left = fs::read_dir(home.bub_home().join("copy")).unwrap().flatten();
    let torn: Vec<_> =
        left.map(|file| file.file_name()).filter(|name| name.to_string_lossy().contains("torn")).collect();
    assert!(torn.is_empty(), "{torn:?}");
}

#[test]
fn a_store_with_a_running_turn_is_not_copied_and_an_interrupted_one_is_stored_first() {
    let home = home();
    let slow = Server::new([Answer::stalled("late")]);
    let turn = home.run(["hello before the end"]).model(&slow).start();
    slow.wait_for(1);
    home.bub(["store", "copy", "files", "sqlite:copy.sqlite"]).finish().refuses(&["a turn writes to tape `"]);
    turn.kill();
    let copied = home.bub(["store", "copy", "files", "sqlite:copy.sqlite"]).finish();
    assert!(copied.code == Some(0) && copied.stderr.contains("was recovered first, with "), "{copied}");
    home.configure("tape_store = \"sqlite:copy.sqlite\"");
    let server = Server::new([Answer::text("here")]);
    home.run(["go on"]).model(&server).finish().answers();
    assert!(server.requests()[0].body.contains("hello before the end"), "{}", server.requests()[0].body);
    // Now the journals of the home belong to another store than that of its directory.
    let copied = home.bub(["store", "copy", "sqlite:copy.sqlite", "files:later"]).finish();
    assert!(copied.code == Some(0) && copied.stderr.is_empty(), "{copied}");
}

#[test]
fn a_database_whose_lease_is_held_is_not_copied() {
    let Some((home, postgres, address)) = databased("") else { return };
    home.run(["hello"]).finish();
    let lease = "INSERT INTO lease (name, epoch, owner, until) VALUES ('poll:x', 1, 'x', now() + interval '1 hour')";
    postgres.sql(&address, lease);
    home.bub(["store", "copy", &address, "files:copy"]).finish().refuses(&["a process holds `poll:x` in `"]);
    postgres.sql(&address, "UPDATE lease SET until = now() - interval '1 second'");
    assert_eq!(home.bub(["store", "copy", &address, "files:copy"]).finish().code, Some(0));
}

#[test]
fn a_user_that_does_not_own_the_tables_runs_turns_in_them() {
    let Some((home, postgres, address)) = databased("") else { return };
    postgres.sql(
        &address,
        "CREATE ROLE bub_owner LOGIN; CREATE ROLE bub_turns LOGIN; GRANT CREATE ON SCHEMA public TO bub_owner; \
         ALTER DEFAULT PRIVILEGES FOR ROLE bub_owner IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO \
         bub_turns",
    );
    let of = |user: &str| address.replace("user=bub", &format!("user={user}"));
    home.configure(&format!("tape_store = {:?}", of("bub_turns")));
    let server = Server::new(["one", "two", "three"].map(Answer::text));
    home.run(["hello"]).model(&server).finish().refuses(&[
        "the database refuses: permission denied for schema public; the owner of the tables can run `bub-wasm store migrate`",
    ]);
    let migrated = home.bub(["store", "migrate", &of("bub_owner")]).finish();
    assert_eq!(migrated.code, Some(0), "{migrated}");
    home.run(["hello"]).model(&server).finish().says("[cli:local]\none\n");
    home.bub(["tape", "reset", "--yes"]).finish().answers();
    home.run(["hello"]).model(&server).finish().says("[cli:local]\ntwo\n");
    let copied = home.bub(["store", "copy", &of("bub_turns"), "files:copy"]).finish();
    assert_eq!(copied.code, Some(0), "{copied}");
}
