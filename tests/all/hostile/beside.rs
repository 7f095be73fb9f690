//! Sessions that mean harm beside sessions that do not, in one process.

use crate::home;
use bub_config::Config;
use bub_runtime::channel::Channel;
use bub_runtime::error::Failure;
use bub_runtime::host::{Host, StartOptions};
use bub_runtime::turn::{TurnOptions, run_turn};
use bub_tests::{Home, programs};
use bub_types::Envelope;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Against waiting for ever.
const PATIENCE: Duration = Duration::from_secs(100);

const LITTLE: &str = "fuel = 300_000_000\nmemory_mib = 16\ncalls = 2_000\ndeadline_ms = 60_000";

/// A session's message, and the fault that it causes.
const DEEDS: [(&str, &str); 4] = [
    ("spin", "out of fuel after 300000000 units"),
    ("eat", "out of memory: more than 16 MiB"),
    ("flood", "called the host more than 2000 times"),
    ("trap", "trapped: "),
];

fn with_obedient(limits: &str) -> Home {
    let home = home().bare();
    home.plugin("obedient", programs::OBEDIENT);
    home.configure(&format!(
        "[plugins.obedient]\nfollow = true\ngrants = [\"hook:*\"]\n[plugins.obedient.limits]\n{limits}"
    ));
    home
}

/// A host of that home in this process, with all plugins opened; its deliveries are dropped.
pub async fn start(home: &Home) -> Arc<Host> {
    let mut config = Config::load(Some(&home.bub_home())).expect("the test's configuration");
    // The tested program compiles the plugins, not this process.
    config.program = env!("CARGO_BIN_EXE_bub-wasm").into();
    let options = StartOptions { opens_plugins: true, ..StartOptions::default() };
    Host::start_with(config, &home.workspace(), Box::new(Nowhere), options).await.expect("the host starts")
}

/// A message of that session.
pub fn message(session: &str, content: &str) -> Envelope {
    Envelope { session_id: Some(session.to_owned()), ..Envelope::new("cli", "local", content) }
}

/// A turn of that session: its answer, or its error.
async fn turn(host: &Arc<Host>, session: &str, content: &str) -> Result<String, Failure> {
    let (_sender, cancel) = watch::channel(false);
    let turn = run_turn(host, message(session, content), TurnOptions::new(cancel));
    let turn = tokio::time::timeout(PATIENCE, turn).await;
    turn.unwrap_or_else(|_| panic!("`{content}` of session `{session}` never ended")).map(|turn| turn.output)
}

#[test]
pub(crate) fn obedient_lets_a_message_pass_that_asks_for_nothing() {
    with_obedient("").run(["hi"]).finish().says("[cli:local]\nhi\n");
}

/// A caller that knows the rule of the quarantine fails two calls of three, and is never in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_sessions_that_break_their_plugin_keep_none_of_four_others_waiting() {
    let home = with_obedient(LITTLE);
    let host = start(&home).await;
    let (is_over, broken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let hostile = DEEDS.into_iter().enumerate().map(|(number, (deed, fault))| {
        let (host, is_over, broken) = (host.clone(), is_over.clone(), broken.clone());
        tokio::spawn(async move {
            let session = format!("hostile:{number}");
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                if round % 3 == 2 {
                    assert_eq!(turn(&host, &session, "well").await.expect("it is let be"), "well");
                    continue;
                }
                let failure = turn(&host, &session, deed).await.expect_err("it breaks its plugin");
                assert!(failure.to_string().contains(fault), "{deed}: {failure}");
                broken.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let hostile: Vec<_> = hostile.collect();
    let quiet = (0..4).map(|number| {
        let host = host.clone();
        tokio::spawn(async move {
            for round in 0..25 {
                let said = format!("round {round}");
                assert_eq!(turn(&host, &format!("quiet:{number}"), &said).await.expect("it is answered"), said);
            }
        })
    });
    let quiet: Vec<_> = quiet.collect();
    for session in quiet {
        session.await.expect("each turn is answered");
    }
    is_over.store(true, Ordering::Relaxed);
    for session in hostile {
        session.await.expect("each fault is the one that was asked for");
    }
    assert!(broken.load(Ordering::Relaxed) >= 8, "there was little to disturb anybody");
}

/// It burns no fuel to speak of: what makes the host work has to give way as well, or nothing would notice the time.
#[test]
fn a_guest_that_keeps_the_host_at_work_is_ended_by_its_deadline() {
    let home = with_obedient("deadline_ms = 1_000\ncalls = 1_000_000");
    let begun = std::time::Instant::now();
    home.run(["burden"]).finish().fails("hook `build-prompt` of plugin `obedient`: took longer than 1000 ms");
    assert!(begun.elapsed() < Duration::from_secs(60), "it took {:?}", begun.elapsed());
    home.run(["hi"]).finish().says("[cli:local]\nhi\n");
}

/// Drops what it gets.
struct Nowhere;

impl Channel for Nowhere {
    fn send<'a>(&'a self, _: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
