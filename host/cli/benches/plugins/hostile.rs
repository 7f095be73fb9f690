//! Latency of four quiet sessions alone, and beside four hostile ones: one loops, one allocates, one floods the host
//! with calls, one traps. They break two of three calls, so that the quarantine never applies.

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

/// Turns per state. A debug build only shows that the benchmark runs.
const TURNS: usize = if cfg!(debug_assertions) { 32 } else { 1_000 };

/// Quiet sessions, and alternations between the two states, so that other load on the machine affects both.
const SESSIONS: usize = 4;
const ROUNDS: usize = 4;

/// The maximum slowdown of the slowest turns.
const TARGET: f64 = 2.0;
const SLOW: usize = 95;

/// The actions of the hostile sessions.
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

/// A host whose plugin performs the actions that messages name, with default limits.
async fn hostile_host() -> (Home, Arc<Host>) {
    let home = home();
    home.plugin("echo", programs::ECHO);
    home.plugin("obedient", programs::OBEDIENT);
    home.grant_hooks();
    let host = host(&home, Settings::new("offline:demo")).await;
    assert_eq!(said(&host, "quiet").await, "[echo] hi");
    (home, host)
}

/// The durations of the quiet sessions' turns.
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

/// The running hostile sessions.
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
                    // The turn fails soon, and the next begins immediately.
                    turn(&host, deed, false).await;
                }
            })
        });
        let begun = Self { is_over, broken, sessions: sessions.into() };
        // Let each of them start.
        tokio::time::sleep(Duration::from_millis(50)).await;
        begun
    }

    /// Waits for the last call of each. Returns the number of failed calls.
    async fn end(self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        for session in self.sessions {
            session.await.expect("a hostile session ends as others do");
        }
        self.broken.load(Ordering::Relaxed)
    }
}

/// A turn of a hostile session that performs the action, which fails, or none.
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
