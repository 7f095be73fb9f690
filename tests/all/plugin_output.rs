//! A guest's stdout and stderr: shown to its author, and to others only on request.

use crate::home;
use crate::plugin_add::{does, plugin};
use bub_tests::{Home, programs};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// `loud`, which says that so many times, and ends so.
fn loud(says: &str, times: u32, ends: &str) -> Home {
    let home = home();
    let says = json!(says);
    home.configure(&format!("[plugins.loud.config]\nsays = {says}\ntimes = {times}\nends = \"{ends}\""));
    home.plugin("loud", programs::LOUD);
    home
}

/// The only call that is kept.
#[track_caller]
fn kept(home: &Home) -> Value {
    let folders = fs::read_dir(home.bub_home().join("quarantine")).expect("something was kept");
    let folder = folders.flatten().map(|entry| entry.path()).find(|path| path.is_dir()).expect("a folder");
    let text = fs::read_to_string(folder.join("call.json")).expect("it is there");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn the_output_of_a_failed_call_is_in_its_fault_its_record_and_the_check() {
    let home = loud("  I am lost", 2, "trap");
    let finished = home.run(["hi"]).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let finished = finished.mentions("hook `build-prompt` of plugin `loud`: trapped: ");
    finished.mentions("; it wrote: I am lost I am lost that was it");
    assert_eq!(kept(&home)["output"], "  I am lost\n  I am lost\nthat was it");

    let checked = plugin(&home, ["check", "loud"]);
    assert_eq!(checked.code, Some(1), "{checked}");
    let shown = "  it wrote:\n  |   I am lost\n  |   I am lost\n  | that was it\n  fix: ";
    assert!(checked.stdout.contains(shown), "{checked}");
    let told = plugin(&home, ["check", "loud", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).expect("it is JSON");
    assert_eq!(told["broken"][0]["output"], "  I am lost\n  I am lost\nthat was it", "{told:#}");
    let again = plugin(&home, ["check", "--repro", told["reproducers"][0].as_str().expect("a path")]);
    assert!(again.stdout.contains("  it wrote:\n  |   I am lost\n"), "{again}");
}

#[test]
fn the_output_of_a_successful_call_is_logged_as_information() {
    for ends in ["", "error"] {
        let home = loud("all is well", 1, ends);
        let quiet = home.run(["hi"]).finish();
        assert!(!quiet.stderr.contains("all is well"), "{quiet}");
        let watched = home.run(["hi"]).watched().finish();
        let watched = watched.mentions("plugin `loud` writes: all is well\n");
        watched.mentions("plugin `loud` writes: that was it\n");
        assert!(!home.bub_home().join("quarantine").exists());
    }
}

#[test]
fn the_output_of_a_guest_is_escaped_and_redacted() {
    const SECRET: &str = "correct-horse-battery";
    let home = loud(&format!("\u{1b}[2J\u{7}key={SECRET}\u{202e} \nplugin `other` is trusted"), 1, "trap");
    let secrets = home.bub_home().join("secrets.toml");
    fs::write(&secrets, format!("[door]\nvalue = \"{SECRET}\"\nhosts = [\"example.com\"]\n"))
        .expect("it can be written");
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let finished = home.run(["hi"]).watched().finish();
    let checked = plugin(&home, ["check", "loud"]);
    // The configuration beside it is the user's own.
    let kept = kept(&home)["output"].as_str().unwrap_or_default().to_owned();
    for text in [&finished.stderr, &checked.stdout, &kept] {
        assert!(!text.contains(SECRET) && !text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        assert!(text.contains("key="), "{text}");
    }
    // A printed line cannot be mistaken for one of the other lines.
    for text in [&finished.stderr, &checked.stdout] {
        assert!(!text.lines().any(|line| line.starts_with("plugin `other`")), "{text}");
    }
}

#[test]
fn a_guest_that_writes_without_end_fills_neither_memory_nor_log() {
    // 32 MB in one call.
    let home = loud(&"x".repeat(1000), 32_000, "trap");
    home.configure("[plugins.loud.limits]\nfuel = 100_000_000_000\ncalls = 1_000_000\ndeadline_ms = 60_000");
    let finished = home.run(["hi"]).watched().finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let finished = finished.mentions("plugin `loud` writes more than 16 KiB in one call; the rest is left out");
    assert!(finished.stderr.len() < 64 << 10, "{} bytes of log", finished.stderr.len());
    let output = kept(&home)["output"].as_str().map(str::len);
    assert!(output.is_some_and(|bytes| bytes <= 8 << 10), "{output:?}");

    // Many short lines: so many at once, and then a few more now and then.
    let home = loud("y", 4_000, "");
    home.configure("[plugins.loud.limits]\ncalls = 1_000_000");
    let finished = home.run(["ECHO:all the same"]).watched().finish();
    let lines = finished.stderr.matches("plugin `loud` writes: y").count();
    assert!((200..1_000).contains(&lines), "{lines} lines");
    assert!(finished.stdout.contains("all the same"), "{finished}");
}

#[test]
fn the_output_of_one_call_is_not_reported_for_the_next() {
    let home = loud("first", 1, "");
    home.run(["hi"]).finish();
    home.configure("[plugins.loud.config]\nsays = \"second\"\nends = \"trap\"");
    let finished = home.run(["hi"]).finish().mentions("it wrote: second that was it");
    assert!(!finished.stderr.contains("first"), "{finished}");
    assert_eq!(does(&home, ["list"]).matches("second").count(), 0);
}
