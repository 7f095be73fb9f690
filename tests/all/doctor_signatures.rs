//! What `doctor` says of `plugins.lock`, trusted keys and advisories.

use crate::home;
use bub_registry::SecretKey;
use std::fs;

#[test]
fn doctor_names_a_lock_that_does_not_fit_keys_that_do_not_count_and_advisories_that_cannot_be_read() {
    let home = home().bare();
    let key = SecretKey::generate(None).expect("a key").0;
    let key = key.public();
    home.configure(&format!(
        "[trust]\nadvisories = \"advisories.json\"\n\
         [trust.keys.good]\nkey = \"{key}\"\nplugins = [\"*\"]\n\
         [trust.keys.late]\nkey = \"{key}\"\nplugins = [\"*\"]\nexpires = \"2020-01-01\"\n\
         [trust.keys.lost]\nkey = \"{key}\"\nplugins = [\"*\"]\nrevoked = true\n"
    ));
    let file = |name: &str| home.bub_home().join(name);
    let digest = "0".repeat(64);
    let entry = |name: &str| {
        format!(
            "[plugins.{name}]\nsource = \"oci://h/{name}:1\"\ndigest = \"{digest}\"\ninstalled = \"2026-01-01T00:00:00Z\"\n"
        )
    };
    fs::write(file("plugins.lock"), format!("format = 1\n{}{}", entry("gone"), entry("notes"))).expect("a file");
    fs::write(file("plugins/notes.wasm"), "other bytes").expect("a file");
    let ill = home.bub(["doctor"]).finish();
    assert_eq!(ill.code, Some(1), "{ill}");
    for line in [
        "note  plugins.lock: plugin `gone` is in it, and its file is gone: add it again from oci://h/gone:1",
        "note  plugins.lock: the file of plugin `notes` is another one than was installed from oci://h/notes:1",
        "note  trusted key `late`: has expired on 2020-01-01",
        "note  trusted key `lost`: is revoked",
        "wrong advisories: ",
    ] {
        assert!(ill.stdout.contains(line), "`{line}`\n{ill}");
    }
    assert!(!ill.stdout.contains("trusted key `good`"), "{ill}");
    fs::write(file("plugins.lock"), "format = \"x\"").expect("a file");
    let ill = home.bub(["doctor"]).finish();
    assert!(ill.stdout.contains("wrong plugins.lock: "), "{ill}");
}
