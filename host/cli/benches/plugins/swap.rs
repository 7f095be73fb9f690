//! Changes of plugins while turns run.

use crate::figure::{Samples, line};
use crate::host::{home, host, said};
use bub_model::Settings;
use bub_runtime::host::Host;
use bub_tests::component::with_section;
use bub_tests::{Home, programs};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Size of a version, in bytes.
const SIZE: usize = 100_000;

/// Number of measurements from file to turn.
const ROUNDS: usize = 30;

/// The target for the first turn of a new version.
const TARGET: Duration = Duration::from_millis(500);

/// Number of turns while plugins change, and of their sessions.
const TURNS: usize = 10_000;
const SESSIONS: usize = 4;

/// Pause between two turns of a session.
const REST: Duration = Duration::from_millis(5);

pub async fn figures() {
    first_turn().await;
    many_turns().await;
}

/// The answers of the two kinds of versions to `hi`.
const SAYS: [&str; 2] = ["[echo] hi", "0"];

/// A host with the first version of plugin `p`, whose grants apply to any bytes.
async fn swapping() -> (Home, Arc<Host>, Versions) {
    let home = home();
    home.configure("[plugins.p]\nfollow = true\ngrants = [\"hook:*\"]");
    let versions = Versions::new(&home);
    versions.drop_in(0);
    let host = host(&home, Settings::new("offline:demo")).await;
    assert_eq!(said(&host, "bench").await, SAYS[0]);
    (home, host, versions)
}

/// Versions of a plugin with distinct bytes, so that each is compiled.
struct Versions {
    dir: PathBuf,
    kinds: [Vec<u8>; 2],
}

impl Versions {
    fn new(home: &Home) -> Self {
        let kinds = [programs::ECHO, programs::COUNTER].map(|path| {
            let bytes = fs::read(path).expect("it was built");
            let rest = SIZE.saturating_sub(bytes.len());
            with_section(&bytes, "padding", &vec![0; rest])
        });
        Self { dir: home.bub_home().join("plugins"), kinds }
    }

    /// Renames version `number` into the directory; returns the time before the rename.
    fn drop_in(&self, number: usize) -> Instant {
        let bytes = with_section(&self.kinds[number % 2], "version", &number.to_le_bytes());
        let beside = self.dir.join("p.wasm.part");
        fs::write(&beside, bytes).expect("the home can be written");
        let begun = Instant::now();
        fs::rename(&beside, self.dir.join("p.wasm")).expect("the home can be written");
        begun
    }
}

/// Measures from creating the file to the end of the first turn that uses it.
async fn first_turn() {
    let (_home, host, versions) = swapping().await;
    let _watch = host.watch();
    let samples = Samples::take(0, ROUNDS, async |round| {
        let begun = versions.drop_in(round + 1);
        while said(&host, "bench").await != SAYS[(round + 1) % 2] {
            assert!(begun.elapsed() < Duration::from_secs(60), "the new version never served");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    samples.print("from a file of 100 KB to a turn that it serves", Some(TARGET));
}

/// Runs turns of several sessions while versions change. Each must be answered by a complete version.
async fn many_turns() {
    let (_home, host, versions) = swapping().await;
    let watch = host.watch();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let swapper = tokio::task::spawn_blocking(move || {
        let mut number = 0;
        while !over.load(Ordering::Relaxed) {
            number += 1;
            versions.drop_in(number);
            std::thread::sleep(Duration::from_millis(100));
        }
        number
    });
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let mut sessions = Vec::new();
    for session in 0..SESSIONS {
        let (host, counts) = (host.clone(), counts.clone());
        sessions.push(tokio::spawn(async move {
            let mut samples = Vec::new();
            for _ in 0..TURNS / SESSIONS {
                let begun = Instant::now();
                let answer = said(&host, &format!("bench:{session}")).await;
                samples.push(begun.elapsed());
                let kind = SAYS.iter().position(|says| *says == answer);
                let kind = kind.unwrap_or_else(|| panic!("a turn was answered by neither plugin: `{answer}`"));
                counts[kind].fetch_add(1, Ordering::Relaxed);
                // Without a pause all turns would end after a few versions.
                tokio::time::sleep(REST).await;
            }
            samples
        }));
    }
    let mut samples = Vec::new();
    for session in sessions {
        samples.extend(session.await.expect("no turn is lost"));
    }
    is_over.store(true, Ordering::Relaxed);
    let swaps = swapper.await.expect("versions are written");
    drop(watch);
    let [first, second] = [0, 1].map(|kind| counts[kind].load(Ordering::Relaxed));
    assert_eq!(first + second, TURNS);
    assert!(first > 0 && second > 0, "all turns were served by one version");
    let samples = Samples::new(samples);
    samples.print("turn while plugins change, four sessions", None);
    line("  files that were renamed meanwhile", &swaps.to_string(), "", None);
    line("  turns, all answered", &TURNS.to_string(), "", None);
}
