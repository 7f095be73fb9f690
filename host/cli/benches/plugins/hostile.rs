//! Four quiet sessions by themselves, and beside four that mean harm: one spins, one eats memory, one floods the host with
//! calls, one traps. Whoever knows the quarantine breaks two calls of three, and stays out of it; so do these.

use crate::figure::{Samples, line, time};
use crate::host::{home, host, message, said};
use bub_model::Settings;
use bub_runtime::host::Host;
use bub_runtime::turn::{TurnOptions, run_turn};
use bub_tests::{Home, programs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Quiet turns by themselves, and as many beside the others. A debug build shows no more than that it runs.
const TURNS: usize = if cfg!(debug_assertions) { 32 } else { 1_000 };

/// Quiet sessions, and how often the two states take turns, so that what else the machine does meets both.
const SESSIONS: usize = 4;
const ROUNDS: usize = 4;

/// How often slower the slow ones may be beside the others.
const TARGET: f64 = 2.0;
const SLOW: usize = 95;

/// What the hostile sessions ask for.
const DEEDS: [&str; 4] = ["spin", "eat", "flood", "trap"];

pub async fn figures() {
    for (rest, name) in [(Duration::ZERO, "without a pause"), (Duration::from_millis(5), "5 ms between two turns")] {
        let (_home, host) = hostile_host().await;
        let mut samples = [Vec::new(), Vec::new()];
        let mut broken = 0;
        for _ in 0..ROUNDS {
            samples[0].extend(quiet(&host, rest).await);
            let hostile = Hostile::begin(&host).await;
            samples[1].extend(quiet(&host, rest).await);
            broken += hostile.end().await;
        }
        print(name, samples.map(Samples::new), broken);
    }
}

fn print(name: &str, [alone, beside]: [Samples; 2], broken: usize) {
    println!("four quiet sessions, {name}");
    alone.print("  a turn by themselves", None);
    beside.print("  a turn beside four hostile ones", None);
    let (alone, beside) = (alone.at(SLOW), beside.at(SLOW));
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    line("  95 % by themselves", &time(alone), "", None);
    line("  95 % beside them", &time(beside), "", None);
    line("  how often slower", &format!("{ratio:.2}"), "", Some((format!("{TARGET:.2}"), ratio <= TARGET)));
    line("  calls that broke meanwhile", &broken.to_string(), "", None);
}

/// A host whose plugin does what messages say, within the limits that a plugin has unless configured.
async fn hostile_host() -> (Home, Arc<Host>) {
    let home = home();
    home.plugin("echo", programs::ECHO);
    home.plugin("obedient", programs::OBEDIENT);
    home.grant_hooks();
    let host = host(&home, Settings::new("offline:demo")).await;
    assert_eq!(said(&host, "quiet").await, "[echo] hi");
    (home, host)
}

/// How long each turn of the quiet sessions took.
async fn quiet(host: &Arc<Host>, rest: Duration) -> Vec<Duration> {
    let sessions = (0..SESSIONS).map(|session| {
        let host = host.clone();
        tokio::spawn(async move {
            let mut samples = Vec::new();
            for _ in 0..TURNS / ROUNDS / SESSIONS {
                let begun = Instant::now();
                assert_eq!(said(&host, &format!("quiet:{session}")).await, "[echo] hi");
                samples.push(begun.elapsed());
                if !rest.is_zero() {
                    tokio::time::sleep(rest).await;
                }
            }
            samples
        })
    });
    let sessions: Vec<_> = sessions.collect();
    let mut samples = Vec::new();
    for session in sessions {
        samples.extend(session.await.expect("each turn is answered"));
    }
    samples
}

/// The hostile sessions while they are at it.
struct Hostile {
    is_over: Arc<AtomicBool>,
    broken: Arc<AtomicUsize>,
    sessions: Vec<JoinHandle<()>>,
}

impl Hostile {
    async fn begin(host: &Arc<Host>) -> Self {
        let (is_over, broken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let sessions = DEEDS.map(|deed| {
            let (host, is_over, broken) = (host.clone(), is_over.clone(), broken.clone());
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    for _ in 0..2 {
                        turn(&host, deed, true).await;
                        broken.fetch_add(1, Ordering::Relaxed);
                    }
                    // It comes soon, and the next begins without a pause.
                    turn(&host, deed, false).await;
                }
            })
        });
        let begun = Self { is_over, broken, sessions: sessions.into() };
        // Time enough for each to be at it.
        tokio::time::sleep(Duration::from_millis(50)).await;
        begun
    }

    /// Waits for the last call of each. How many broke.
    async fn end(self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        for session in self.sessions {
            session.await.expect("a hostile session ends as others do");
        }
        self.broken.load(Ordering::Relaxed)
    }
}

/// A turn of the session that asks for this deed, which breaks the plugin, or for nothing, which does not.
async fn turn(host: &Arc<Host>, deed: &str, asks: bool) {
    let mut message = message(&format!("hostile:{deed}"));
    if asks {
        deed.clone_into(&mut message.content);
    }
    let (_sender, cancel) = watch::channel(false);
    let ended = run_turn(host, message, TurnOptions::new(cancel)).await;
    match (asks, ended) {
        (true, Err(failure)) => {
            let text = failure.to_string();
            assert!(text.contains("of plugin `obedient`: ") && !text.contains("quarantine"), "{text}");
        }
        (false, Ok(turn)) => assert_eq!(turn.output, "[echo] hi"),
        (true, Ok(turn)) => panic!("`{deed}` did no harm: {}", turn.output),
        (false, Err(failure)) => panic!("a good call broke: {failure}"),
    }
}
