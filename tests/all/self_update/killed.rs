//! Updates that are killed, and two at once.

use super::*;
use std::time::Duration;

/// The steps at which an update is killed, in order.
const STEPS: [&str; 9] = [
    "update.fetch",
    "update.fetched",
    "update.unpacked",
    "update.written",
    "update.keep",
    "update.kept",
    "update.replace",
    "update.replaced",
    "update.exchange",
];

#[test]
fn an_update_that_is_killed_at_any_step_leaves_a_whole_program_and_the_next_one_succeeds() {
    let built = fs::metadata(env!("CARGO_BIN_EXE_bub-wasm")).expect("it is there").len();
    for step in STEPS {
        let installed = Installed::new();
        installed.publish("0.2.0", &newer("0.2.0"));
        let mut arguments = vec!["self", "update"];
        if step == "update.exchange" {
            fs::write(installed.previous(), newer("0.2.0")).expect("a file");
            fs::set_permissions(installed.previous(), fs::Permissions::from_mode(0o755)).expect("its rights");
            arguments.push("--rollback");
        }
        let killed = installed.home.bub(arguments.iter().copied()).env("BUB_FAILPOINT", step).finish();
        assert_eq!(killed.code, None, "it was killed at `{step}`\n{killed}");
        let length = fs::metadata(installed.program()).expect("it is there").len();
        if length == built {
            let next = installed.home.bub(arguments).finish();
            assert_eq!(next.code, Some(0), "after `{step}`\n{next}");
        } else {
            assert_eq!(step, "update.replaced");
        }
        assert_eq!(text(&installed.program()), newer("0.2.0"), "after `{step}`");
        assert_eq!(fs::metadata(installed.previous()).expect("it is there").len(), built, "after `{step}`");
    }
}

#[test]
fn two_updates_at_once_are_one() {
    let installed = Installed::new();
    let waits = program("0.2.0", r#"touch "$0.runs"; sleep 3; echo '{"findings": []}'"#);
    installed.publish("0.2.0", &waits);
    let first = installed.home.bub(["self", "update"]).start();
    let place = installed.root.path().join("bin/.bub-wasm.update");
    let begun = || place.join("bub-wasm.runs").exists();
    for _ in 0..600 {
        if begun() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(begun(), "the first one runs the `doctor` of the new program");
    let second = installed.update([]);
    assert_eq!(second.code, Some(1), "{second}");
    second.mentions("is running");
    let first = first.finish();
    assert!(first.stdout.contains("to 0.2.0"), "{first}");
}
