//! Load of many concurrent sessions.

use crate::client::Client;
use crate::figure::{Samples, line, print_memory, time};
use crate::program::Program;
use bub_tests::{Home, programs, tape};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

const SESSIONS: usize = 1_000;
const TURNS: usize = 20_000;
const CONNECTIONS: usize = 64;

/// Target throughput, in turns per second.
const AIM: f64 = 800.0;

/// Target latency at half of that throughput.
const LATENCY: Duration = Duration::from_millis(25);

/// Target memory, in bytes.
const MEMORY: u64 = 250_000_000;

/// The model.
#[derive(Clone, Copy)]
pub enum Model {
    Stub,
    Offline,
}

pub async fn figures(name: &str, model: Model) {
    let home = Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"));
    if let Model::Stub = model {
        home.plugin("echo", programs::ECHO);
        home.grant_hooks();
    }
    let program = Arc::new(Program::start(&home, &[]));
    program.turn("warm", "hi").await;
    program.settle();
    println!("{name}: {SESSIONS} sessions, {CONNECTIONS} connections");

    let begun = Instant::now();
    as_fast_as_it_goes(&program, TURNS).await;
    let rate = TURNS as f64 / begun.elapsed().as_secs_f64();
    line("  turns a second", &format!("{rate:.0}"), "", Some((format!("{AIM:.0}"), rate >= AIM)));

    let latencies = paced(&program, AIM / 2.0, TURNS / 4).await;
    let late = latencies.at(99);
    let name = format!("  a turn at {:.0} a second", AIM / 2.0);
    latencies.print(&name, None);
    line("    of a hundred the slowest", &time(late), "", Some((time(LATENCY), late <= LATENCY)));
    print_memory("  memory at most", program.peak(), MEMORY);
    if let Model::Offline = model {
        check_tapes(&home);
    }
}

/// Runs all sessions concurrently, each with sequential turns.
pub async fn as_fast_as_it_goes(program: &Arc<Program>, turns: usize) {
    let mut workers = JoinSet::new();
    for worker in 0..CONNECTIONS {
        let program = Arc::clone(program);
        workers.spawn(async move {
            let mut client = Client::connect(program.address, &program.token).await.expect("it listens");
            for round in 0..turns / SESSIONS {
                for session in (worker..SESSIONS).step_by(CONNECTIONS) {
                    let content = format!("message {round} of {session}");
                    let (status, body) =
                        client.turn(&format!("load:{session}"), &content, None).await.expect("it answers");
                    assert_eq!(status, 200, "{body}");
                    assert!(body.contains(&content), "{body}");
                }
            }
        });
    }
    workers.join_all().await;
}

/// Runs turns at a fixed rate. Latency includes waiting for a connection.
async fn paced(program: &Arc<Program>, rate: f64, turns: usize) -> Samples {
    let next = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (program, next) = (Arc::clone(program), Arc::clone(&next));
        workers.spawn(async move {
            let mut client = Client::connect(program.address, &program.token).await.expect("it listens");
            let mut latencies = Vec::new();
            loop {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                if turn >= turns {
                    return latencies;
                }
                let due = begun + Duration::from_secs_f64(turn as f64 / rate);
                sleep_until(due).await;
                let session = format!("paced:{}", turn % SESSIONS);
                let (status, body) = client.turn(&session, "hello", None).await.expect("it answers");
                assert_eq!(status, 200, "{body}");
                latencies.push(due.elapsed());
            }
        });
    }
    Samples::new(workers.join_all().await.concat())
}

/// Checks that every message of every session is on its tape, once and in order.
fn check_tapes(home: &Home) {
    for session in 0..SESSIONS {
        let tape = tape::read(&home.tape_file(&format!("load:{session}")));
        let said: Vec<&str> = tape
            .iter()
            .filter(|entry| entry["payload"]["role"] == "user")
            .filter_map(|entry| entry["payload"]["content"].as_str())
            .collect();
        assert_eq!(said.len(), TURNS / SESSIONS, "session {session}");
        for (round, said) in said.iter().enumerate() {
            assert!(said.contains(&format!("message {round} of {session}")), "session {session}: {said}");
        }
    }
    println!("  every message stands on its tape once, in order");
}
