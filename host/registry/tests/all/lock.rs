//! `plugins.lock`, and advisories about what is in it.

use bub_registry::{Advisories, Lock, Locked};
use jiff::Timestamp;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn locked(version: &str, digest: char) -> Locked {
    Locked {
        version: Some(version.to_owned()),
        source: format!("oci://registry.example.com/acme/weather:{version}"),
        manifest: None,
        digest: digest.to_string().repeat(64),
        installed: Timestamp::UNIX_EPOCH,
        signer: None,
        signer_issuer: None,
        signer_name: None,
        signature: Some("untrusted comment: a\nb\n".to_owned()),
        grants: vec!["tape:read".to_owned()],
        removed: false,
        before: None,
    }
}

#[test]
fn a_lock_is_written_and_read_and_rolls_back_to_the_version_before() {
    let home = tempfile::tempdir().expect("a directory");
    assert_eq!(Lock::read(home.path()).expect("none is an empty one"), Lock::default());
    for (version, digest) in [("1.0.0", 'a'), ("2.0.0", 'b'), ("3.0.0", 'c')] {
        let change = |lock: &mut Lock| {
            lock.install("weather", locked(version, digest));
            Ok(())
        };
        Lock::change(home.path(), change).expect("it is written");
    }
    let lock = Lock::read(home.path()).expect("it is read");
    let entry = &lock.plugins["weather"];
    assert_eq!(entry.version.as_deref(), Some("3.0.0"));
    let before = entry.before.as_ref().expect("one is kept");
    assert_eq!((before.version.as_deref(), &before.before), (Some("2.0.0"), &None));
    assert!(lock.entry("weather", &"b".repeat(64)).is_some() && lock.entry("weather", &"a".repeat(64)).is_none());

    let mut back = lock.clone();
    back.roll_back("weather", &"b".repeat(64));
    assert_eq!(back.plugins["weather"].version.as_deref(), Some("2.0.0"));
    back.roll_back("weather", &"c".repeat(64));
    assert_eq!(back.plugins["weather"], lock.plugins["weather"]);
    // A removed plugin comes back alone.
    let mut gone = lock.clone();
    gone.remove("weather");
    assert_eq!(gone.installed().count(), 0);
    gone.roll_back("weather", &"c".repeat(64));
    assert_eq!(gone.installed().count(), 1);
    // Of other bytes nothing is known.
    back.roll_back("weather", &"d".repeat(64));
    assert!(back.plugins.is_empty());
}

#[test]
fn a_wrong_lock_is_an_error_of_one_line_and_stays_as_it_is() {
    let home = tempfile::tempdir().expect("a directory");
    let path = Lock::path(home.path());
    for (text, why) in [
        ("format = 9", "has the format 9"),
        ("format = 1\nplugins = 3", "line 2"),
        ("not toml at all", "line 1"),
        ("format = 1\n[plugins.a]\nsource = 'x'", "missing field"),
        ("format = 1\nother = 3", "line 2"),
    ] {
        fs::write(&path, text).expect("it is ours");
        let error = Lock::change(home.path(), |_| Ok(())).expect_err(text);
        let error = format!("{error:#}");
        assert!(error.contains(why) && !error.contains('\n') && error.contains("plugins.lock"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
    }
    fs::write(&path, "format = 1").expect("it is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("it is ours");
    assert!(Lock::read(home.path()).is_err(), "others can write it");
}

#[test]
fn programs_that_change_the_lock_at_once_lose_nothing() {
    let home = tempfile::tempdir().expect("a directory");
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let home = home.path();
            scope.spawn(move || {
                for number in 0..10 {
                    let change = |lock: &mut Lock| {
                        lock.install(&format!("p{worker}-{number}"), locked("1.0.0", 'a'));
                        Ok(())
                    };
                    Lock::change(home, change).expect("it is written");
                }
            });
        }
    });
    assert_eq!(Lock::read(home.path()).expect("it is read").plugins.len(), 80);
}

#[test]
fn an_advisory_means_digests_versions_and_ranges_as_osv_says() {
    let text = r#"[
      { "id": "BUB-2026-0001", "summary": "sends\nmail", "affected": [{ "database_specific": { "digests": ["sha256:DIGEST"] } }] },
      { "id": "BUB-2026-0002", "affected": [{ "package": { "ecosystem": "bub-wasm", "name": "weather" },
        "versions": ["0.1.0"], "ranges": [{ "type": "SEMVER", "events": [{ "introduced": "1.0.0" }, { "fixed": "1.2.0" }, { "introduced": "2.0.0" }, { "last_affected": "2.1.0" }] }] }] },
      { "id": "BUB-2026-0003", "withdrawn": "2026-01-01T00:00:00Z", "affected": [{ "package": { "ecosystem": "bub-wasm", "name": "weather" }, "versions": ["5.0.0"] }] },
      { "id": "BUB-2026-0004", "affected": [{ "package": { "ecosystem": "bub-wasm", "name": "registry.example.com/acme/weather" }, "versions": ["6.0.0"] },
        { "package": { "ecosystem": "npm", "name": "weather" }, "versions": ["7.0.0"] }] }
    ]"#
    .replace("DIGEST", &"e".repeat(64));
    let advisories = Advisories::parse(text.as_bytes()).expect("it is OSV");
    assert_eq!(advisories.len(), 4);
    let found = |name: &str, version: &str, digest: char| {
        let locked = locked(version, digest);
        advisories.find(name, &locked.digest, Some(&locked)).map(|finding| finding.id)
    };
    for (version, id) in [
        ("0.1.0", Some("BUB-2026-0002")),
        ("0.9.0", None),
        ("1.0.0", Some("BUB-2026-0002")),
        ("1.1.9", Some("BUB-2026-0002")),
        ("1.2.0", None),
        ("2.1.0", Some("BUB-2026-0002")),
        ("2.1.1", None),
        ("5.0.0", None),
        ("6.0.0", Some("BUB-2026-0004")),
        ("7.0.0", None),
    ] {
        assert_eq!(found("weather", version, 'a').as_deref(), id, "{version}");
    }
    assert_eq!(found("renamed", "0.9.0", 'e').as_deref(), Some("BUB-2026-0001"));
    let unlocked = advisories.find("by-hand", &"e".repeat(64), None).expect("its digest is listed");
    assert_eq!(unlocked.summary, "sends mail");
    for text in ["", "[", "{}", "[1]", r#"{"id":"x","affected":[{"database_specific":{"digests":["12"]}}]}"#] {
        assert!(Advisories::parse(text.as_bytes()).is_err(), "{text}");
    }
}
