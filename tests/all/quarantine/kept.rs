//! The records of faults: the breaker file and the calls.

use super::{TRAP, answers, book, breaks, is_passed_over, listed, run_in, weak};
use bub_tests::{Home, programs};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn quarantine(home: &Home) -> PathBuf {
    home.bub_home().join("quarantine")
}

fn folders(home: &Home) -> Vec<PathBuf> {
    let all = fs::read_dir(quarantine(home)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.is_dir()).collect();
    all.sort();
    all
}

fn call(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("call.json")).expect("the call is kept");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_failed_call_is_recorded_with_its_component_and_context() {
    let home = weak("save-state", TRAP);
    super::answers(&home, "run-model", "\"so it was\"\nsave-state = { trap = true }");
    run_in(&home, "a").fails("hook `save-state` of plugin `weak`: trapped: ");
    let folders = folders(&home);
    assert_eq!(folders.len(), 1, "{folders:?}");
    let name = folders[0].file_name().expect("it has a name").to_string_lossy().into_owned();
    assert!(name.starts_with("weak-save-state-"), "{name}");

    let component = fs::read(folders[0].join("component.wasm")).expect("the component is kept");
    assert_eq!(component, fs::read(programs::SCRIPTED).expect("it was built"));
    let call = call(&folders[0]);
    assert_eq!(call["arguments"], serde_json::json!(["so it was", null]), "{call:#}");
    assert_eq!((&call["plugin"], &call["hook"], &call["session"]), (&"weak".into(), &"save-state".into(), &"a".into()));
    assert!(call["fault"].as_str().is_some_and(|fault| fault.contains("unreachable")), "{call:#}");
    assert_eq!(call["turn"]["message"]["content"], "hi", "{call:#}");
    assert_eq!(call["config"]["answers"]["run-model"], "so it was", "{call:#}");
    assert!(call["limits"]["fuel"].is_u64(), "{call:#}");

    let rights = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!((rights(&quarantine(&home)), rights(&folders[0])), (0o700, 0o700));
    assert_eq!(rights(&folders[0].join("call.json")), 0o600);
    assert_eq!(rights(&folders[0].join("component.wasm")), 0o600);
}

#[test]
fn a_call_that_its_deadline_ended_is_kept_as_well() {
    let home = crate::home().bare();
    home.plugin("weak", programs::FAULT_SPIN);
    home.configure("[plugins.weak.limits]\ndeadline_ms = 300\nfuel = 1_000_000_000_000_000");
    run_in(&home, "a").fails("took longer than 300 ms");
    assert_eq!(call(&folders(&home)[0])["turn"]["message"]["content"], "hi");
}

#[test]
fn records_contain_no_secret() {
    let home = weak("save-state", TRAP);
    let secret = "t0ken-that-nobody-may-see";
    answers(&home, "run-model", &format!("\"it is {secret}\"\nsave-state = {{ trap = true }}"));
    let key = "sk-model-0123456789abcdef";
    let message = format!("my key is {secret}, the model's {key}");
    let run = home.run([&*message]).env("BUB_SECRET_TOKEN", secret).env("BUB_API_KEY", key);
    run.finish().fails("hook `save-state` of plugin `weak`: trapped: ");
    let text = fs::read_to_string(folders(&home)[0].join("call.json")).expect("the call is kept");
    assert!(
        !text.contains(secret)
            && !text.contains(key)
            && text.contains("it is ***")
            && text.contains("my key is ***, the model's ***"),
        "{text}"
    );
}

#[test]
fn of_one_hook_one_call_is_kept_and_of_all_twenty() {
    let home = weak("build-prompt", TRAP);
    breaks(&home, "a");
    let first = folders(&home);
    let made = fs::metadata(first[0].join("call.json")).expect("it is there").ino();
    breaks(&home, "b");
    assert_eq!(folders(&home), first);
    assert_eq!(fs::metadata(first[0].join("call.json")).expect("it is there").ino(), made);

    let old: Vec<PathBuf> = (0..30).map(|number| quarantine(&home).join(format!("old-{number:02}"))).collect();
    for (number, folder) in (0..).zip(&old) {
        fs::create_dir(folder).expect("it can be made");
        fs::write(folder.join("call.json"), "{}").expect("it can be written");
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("it is ours");
        let then = SystemTime::now() - Duration::from_secs(10_000 - number);
        fs::File::open(folder).and_then(|folder| folder.set_modified(then)).expect("it is ours");
    }
    answers(&home, "load-state", TRAP);
    run_in(&home, "a").fails("hook `load-state` of plugin `weak`: trapped: ");
    let left = folders(&home);
    assert_eq!(left.len(), 20, "{left:?}");
    assert!(left.contains(&first[0]) && left.contains(&old[29]) && !left.contains(&old[0]), "{left:?}");
}

#[test]
fn values_that_are_too_large_are_left_out() {
    let home = weak("save-state", TRAP);
    let much = "much ".repeat(600_000);
    answers(&home, "run-model", &format!("\"{much}\"\nsave-state = {{ trap = true }}"));
    run_in(&home, "a").fails("hook `save-state` of plugin `weak`: trapped: ");
    let folder = &folders(&home)[0];
    assert!(fs::metadata(folder.join("call.json")).expect("it is there").len() < 3 << 20);
    assert_eq!(call(folder)["arguments"]["left_out"], "it is too large");
}

#[test]
fn an_invalid_breaker_file_is_replaced() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    for text in ["", "[{\"digest\": 7}]", "no JSON", "[[[["] {
        fs::write(book(&home), text).expect("it is ours");
        let finished = breaks(&home, "a");
        finished.mentions("is not understood, and who was in quarantine is not");
        assert!(listed(&home).is_empty());
    }
}

#[test]
fn a_folder_that_others_could_write_is_not_believed_and_not_written() {
    let home = weak("build-prompt", TRAP);
    (0..3).for_each(|_| drop(breaks(&home, "a")));
    is_passed_over(&home, "a");
    fs::set_permissions(quarantine(&home), fs::Permissions::from_mode(0o777)).expect("it is ours");
    let before = fs::read(book(&home)).expect("it is there");
    breaks(&home, "a").mentions("is open to other users: `chmod 700 ");
    assert_eq!(fs::read(book(&home)).expect("it is there"), before);
}

/// A plugin that panics with a message of its choice: here a secret.
#[test]
fn the_breaker_file_and_doctor_contain_no_secret() {
    let home = crate::home().bare();
    home.plugin("weak", programs::FAULT_PANIC);
    let secret = "guest says no";
    let run = || home.run(["hi"]).env("BUB_SECRET_TOKEN", secret).finish();
    (0..3).for_each(|_| drop(run()));
    let text = fs::read_to_string(book(&home)).expect("it broke calls");
    assert!(text.contains("***") && !text.contains(secret), "{text}");
    for words in [&["doctor"][..], &["doctor", "--json"]] {
        let run =
            home.bub(words.iter().copied()).env("BUB_SECRET_TOKEN", secret).env("BUB_MODEL", "mine:guest says no");
        let told = run.env("BUB_API_BASE", "http://127.0.0.1:9").finish();
        assert!(told.stdout.contains("mine:***") && !told.stdout.contains(secret), "{told}");
    }
    let run = home.bub(["doctor", "--config", "--json"]).env("BUB_API_BASE", "http://me:a-long-password@127.0.0.1:9");
    let told = run.finish();
    assert!(told.stdout.contains("127.0.0.1:9") && !told.stdout.contains("a-long-password"), "{told}");
}
