//! Faults leak nothing.

use super::beside::{message, start};
use crate::home;
use bub_runtime::host::Host;
use bub_runtime::turn::{TurnOptions, run_turn};
use bub_tests::{Home, programs};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tokio::sync::watch;

/// The most that all of them may leak, in bytes.
const LEFT: usize = 5 << 20;

/// In a process of its own: here other tests run beside it.
#[test]
fn a_thousand_faults_in_one_process_leak_no_memory() {
    let test = std::env::current_exe().expect("this program has a path");
    let mut alone = Command::new(test);
    alone.env_clear().env("BUB_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
    let ended = alone.args(["--exact", "hostile::many::a_thousand_faults", "--ignored", "--nocapture"]).output();
    let ended = ended.expect("this program starts");
    let (said, complained) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success() && said.contains("1 passed"), "{said}\n{complained}");
}

#[tokio::test]
#[ignore = "started by the test above, in a process of its own"]
async fn a_thousand_faults() {
    let kinds = [
        ("fault_trap", programs::FAULT_TRAP, "", "trapped"),
        ("fault_panic", programs::FAULT_PANIC, "", "panicked"),
        ("fault_memory", programs::FAULT_MEMORY, "memory_mib = 16", "out of memory"),
        ("fault_spin", programs::FAULT_SPIN, "fuel = 3_000_000", "out of fuel"),
    ];
    let mut all = Vec::new();
    for (name, wasm, limits, fault) in kinds {
        let home = home().bare();
        home.plugin(name, wasm);
        home.configure(&format!("[plugins.{name}]\nfollow = true\ngrants = [\"hook:*\"]"));
        home.configure(&format!("[plugins.{name}.limits]\n{limits}"));
        let host = start(&home).await;
        all.push((home, host, name, fault));
    }
    rounds(&all, 50).await;
    let before = resident();
    rounds(&all, 250).await;
    let left = resident().saturating_sub(before);
    assert!(left < LEFT, "{left} bytes are left behind");
}

async fn rounds(all: &[(Home, Arc<Host>, &str, &str)], count: usize) {
    for round in 0..count {
        for (_, host, name, fault) in all {
            // With the quarantine, a plugin that keeps failing would not be called.
            host.lift_quarantine(name).await.expect("the quarantine can be written");
            // A session's tape grows with its failed turns, and is read; ten of them do not grow much.
            let (_sender, cancel) = watch::channel(false);
            let failure = run_turn(host, message(&format!("many:{}", round % 10), "hi"), TurnOptions::new(cancel))
                .await
                .expect_err("each turn breaks");
            assert!(failure.to_string().contains(fault), "{failure}");
        }
    }
}

/// The memory of this process that is in use, in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().expect("a number") << 10
}
