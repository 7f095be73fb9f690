//! The configuration, through the crate's API.

mod network;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bub_config::{Config, TapeStorage};

fn write(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
}

/// A home with tapes at that address, and the content of the file of secrets.
fn config(address: &str, secrets: &str) -> (tempfile::TempDir, anyhow::Result<Config>) {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "config.toml", &format!("model = \"openai:x\"\ntape_store = {address:?}\n"));
    write(home.path(), "secrets.toml", secrets);
    let config = Config::load(Some(home.path()));
    (home, config)
}

#[test]
fn tapes_are_in_postgresql_by_its_address() {
    for address in ["postgres://bub@db.example.com/bub", "postgresql:///bub?host=/run/postgresql&user=bub"] {
        let (_home, config) = config(address, "");
        let config = config.unwrap();
        assert_eq!(config.tapes.storage, TapeStorage::Postgres(address.to_owned()));
        assert_eq!(config.tapes.storage.to_string(), address);
        assert_eq!(config.database(address).unwrap().to_string(), address);
    }
}

#[test]
fn an_address_with_a_password_or_without_encryption_is_refused_at_the_start() {
    for (address, why) in [
        (
            "postgres://bub:hunter22@db.example.com/bub",
            "contains a password: store it with `bub-wasm secret set postgres --host HOST`",
        ),
        ("postgres://bub@db.example.com/bub?sslmode=disable", "which only a server on this machine may have"),
        ("postgres:///bub", "names no host"),
        ("redis://db.example.com", "is none of `files`, `sqlite:PATH` and `postgres://HOST/NAME`"),
    ] {
        let (_home, config) = config(address, "");
        let refused = format!("{:#}", config.unwrap_err());
        assert!(refused.starts_with("`tape_store` of config.toml: ") && refused.contains(why), "{refused}");
        assert!(!refused.contains("hunter22"), "{refused}");
    }
}

#[test]
fn the_password_is_a_secret_that_goes_to_its_hosts_alone() {
    let secret = "[postgres]\nvalue = \"hunter22\"\nhosts = [\"db.example.com\"]\n";
    let (_home, config) = config("files", secret);
    let config = config.unwrap();
    assert!(config.database("postgres://bub@db.example.com/bub").is_ok());
    for host in ["other.example.com", "db.example.com,other.example.com"] {
        let refused = config.database(&format!("postgres://bub@{host}/bub")).unwrap_err();
        assert_eq!(refused.to_string(), "secret `postgres` is not bound to host `other.example.com`");
    }
}

#[test]
fn an_address_takes_effect_at_the_next_start() {
    let (_home, running) = config("files", "");
    let (_other, next) = config("postgres://bub@db.example.com/bub", "");
    let (kept, waiting) = next.unwrap().merge_reload(&running.unwrap());
    assert_eq!(kept.tapes.storage, TapeStorage::Files);
    let waiting: Vec<String> = waiting.iter().map(ToString::to_string).collect();
    let address = "postgres://bub@db.example.com/bub";
    let expected =
        format!("`tape_store` of config.toml is `{address}` from the next start on; until then it stays `files`");
    assert!(waiting.contains(&expected), "{waiting:?}");
}
