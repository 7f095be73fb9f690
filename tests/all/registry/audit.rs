//! Advisories about installed plugins.

use super::*;
use crate::plugin_add::{file, sha256};

const HOOK: &str = "hook:build-prompt";

/// Installs `notes` in that version, and returns its digest.
fn add(home: &Home, version: &str) -> String {
    let bytes = component(version, &[HOOK]);
    does(home, ["add", file(home, "notes.wasm", &bytes).to_str().expect("UTF-8"), "--yes"]);
    sha256(&bytes)
}

#[test]
fn what_an_advisory_lists_is_quarantined_until_the_owner_says_otherwise() {
    let home = new();
    let first = add(&home, "1.0.0");
    let second = add(&home, "1.1.0");
    answers(&home, true);
    let said = does(&home, ["audit"]);
    assert!(said.contains("no advisories were read") && said.contains("nothing is wrong"), "{said}");
    let advisory = json!([
        { "id": "BUB-2026-0001", "summary": "Sends\nwhat is said \u{1b}[31mto a friend.", "affected": [
            { "database_specific": { "digests": [format!("sha256:{second}")] } },
            { "package": { "ecosystem": "bub-wasm", "name": "notes" }, "versions": ["1.0.0"] },
        ] },
    ]);
    fs::write(home.bub_home().join("advisories.json"), advisory.to_string()).expect("the home can be written");
    home.configure("[trust]\nadvisories = \"advisories.json\"");
    let found = plugin(&home, ["audit"]);
    assert_eq!(found.code, Some(1), "{found}");
    assert!(found.stdout.contains("plugin `notes` is listed by advisory `BUB-2026-0001`"), "{found}");
    assert!(found.stdout.contains("it is in quarantine now") && !found.stdout.contains('\u{1b}'), "{found}");
    let why = "plugin `notes` did not load: advisory `BUB-2026-0001`";
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions(why);
    assert_eq!(lock(&home).quarantine.len(), 2, "the version before is listed too");
    let refused = plugin(&home, ["rollback", "notes"]).refuses(&["is in quarantine by advisory `BUB-2026-0001`"]);
    assert!(refused.stderr.contains("nothing is changed"), "{refused}");
    plugin(&home, ["add", file(&home, "notes.wasm", &component("1.0.0", &[HOOK])).to_str().expect("UTF-8")])
        .refuses(&["is not added: it is in quarantine", "bub-wasm plugin unquarantine notes"]);
    assert!(lock(&home).quarantine.contains_key(&first));

    does(&home, ["unquarantine", "notes"]);
    answers(&home, true);
    plugin(&home, ["unquarantine", "notes"]).refuses(&["plugin `notes` is not in quarantine"]);
}

#[test]
fn a_changed_file_is_reported_and_a_wrong_file_of_advisories_is_refused() {
    let home = new();
    let digest = add(&home, "1.0.0");
    fs::write(installed(&home), component("1.0.1", &[HOOK])).expect("it is ours");
    let found = plugin(&home, ["audit"]);
    let why = format!("plugin `notes` is not what was installed: plugins.lock has sha256 {digest}");
    assert!(found.code == Some(1) && found.stdout.contains(&why), "{found}");
    for (text, why) in [("", "is not a file of advisories"), ("[{}]", "missing field `id`"), ("nonsense", "advisories")]
    {
        let path = file(&home, "bad.json", text.as_bytes());
        plugin(&home, ["audit", "--advisories", path.to_str().expect("UTF-8")]).refuses(&[why, "bad.json"]);
    }
    plugin(&home, ["audit", "--advisories", "/nowhere/a.json"]).refuses(&["`/nowhere/a.json` cannot be read"]);
}
