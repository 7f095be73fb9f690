//! What is left behind by faults: nothing.

use crate::home;
use bub_tests::{Home, programs};
use bub_wasm::channel::Channel;
use bub_wasm::config::Config;
use bub_wasm::error::Failure;
use bub_wasm::host::Host;
use bub_wasm::plugin::bindings::{Envelope, MessageKind};
use bub_wasm::turn::{Audience, run_turn};
use std::fs;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use tokio::sync::watch;

/// What may be left behind by all of them, in bytes.
const LEFT: usize = 5 << 20;

/// In a process of its own: here other tests run beside it.
#[test]
fn a_thousand_faults_in_one_process_leave_no_memory_behind() {
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
            // What keeps breaking would not be asked.
            host.release(name).expect("the quarantine can be written");
            let (_sender, cancel) = watch::channel(false);
            let failure = run_turn(host, message(round), Audience::new(cancel)).await.expect_err("each turn breaks");
            assert!(failure.to_string().contains(fault), "{failure}");
        }
    }
}

async fn start(home: &Home) -> Arc<Host> {
    let mut config = Config::load(Some(&home.bub_home())).expect("the test's configuration");
    // What compiles is the program, and not this one.
    config.program = env!("CARGO_BIN_EXE_bub-wasm").into();
    Host::start(config, &home.workspace(), Box::new(Nowhere)).await.expect("the host starts")
}

fn message(round: usize) -> Envelope {
    Envelope {
        id: None,
        // A session's tape grows with its failed turns, and is read; ten of them do not grow much.
        session_id: Some(format!("many:{}", round % 10)),
        channel: "cli".to_owned(),
        chat_id: "local".to_owned(),
        sender: None,
        content: "hi".to_owned(),
        kind: MessageKind::Normal,
        context: Vec::new(),
        media: Vec::new(),
        output_channel: None,
    }
}

/// The memory of this process that is in use, in bytes.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().expect("a number") << 10
}

/// Drops what it gets.
struct Nowhere;

impl Channel for Nowhere {
    fn send<'a>(&'a self, _: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
