//! The time of a program that does nothing, with a sandbox and without: `cargo bench -p bub-sandbox`.
//!
//! The kinds take turns, because the speed of a machine changes: what is printed of a difference is the median of those
//! between neighbours.

use bub_sandbox::{Backend, Confinement, Limits, Network, Private, Sandbox, Setting};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Starts of each kind.
const ROUNDS: usize = 100;

fn main() {
    let workspace = tempfile::tempdir().expect("a directory");
    let private = Private::default();
    let offline = Confinement {
        workspace: workspace.path().canonicalize().expect("it is there"),
        home: std::env::home_dir(),
        private: private.of_session("bench").expect("a directory"),
        read: Vec::new(),
        write: Vec::new(),
        keep: Vec::new(),
        hide: Vec::new(),
        network: Network::Off,
        limits: Limits::default(),
    };
    let network = Network::Proxy { socket: None, loopback: Vec::new() };
    let online = Confinement { network, ..offline.clone() };
    let began = Instant::now();
    let sandbox = Sandbox::find(Setting::Bwrap, Path::new("/proc/self/exe"), None);
    println!("{:<22} {:>6.2} ms", "to find the sandbox", ms(began.elapsed()));
    if *sandbox.backend() == Backend::None {
        println!("bwrap is not here: {}", sandbox.why().join("; "));
        return;
    }
    let directory = offline.workspace.clone();
    let (mut free, mut held, mut connected) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        free.push(start(None, &directory));
        held.push(start(Some((&sandbox, &offline)), &directory));
        connected.push(start(Some((&sandbox, &online)), &directory));
    }
    print("without", &free);
    for (what, times) in [("without a network", held), ("with a proxy", connected)] {
        print(what, &times);
        let more: Vec<Duration> = times.iter().zip(&free).map(|(one, other)| one.saturating_sub(*other)).collect();
        print("  more", &more);
    }
}

fn start(sandbox: Option<(&Sandbox, &Confinement)>, directory: &Path) -> Duration {
    let began = Instant::now();
    let wrapped = sandbox.map(|(sandbox, given)| sandbox.wrap(given, directory).expect("it is held"));
    let wrapped = wrapped.unwrap_or_default();
    let words = wrapped.words.iter().map(AsRef::as_ref).chain(["bash", "-c", "true"].map(AsRef::as_ref));
    let words: Vec<&std::ffi::OsStr> = words.collect();
    let (program, arguments) = words.split_first().expect("a program");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    wrapped.preparation.begin().expect("it begins");
    let mut child = command.spawn().expect("it starts");
    let listeners = wrapped.preparation.complete().expect("it is prepared");
    let status = child.wait().expect("it ends");
    let took = began.elapsed();
    assert!(status.success(), "{status}");
    drop(listeners);
    took
}

fn print(what: &str, times: &[Duration]) {
    let mut times = times.to_vec();
    times.sort();
    let (median, fastest) = (times[times.len() / 2], times[0]);
    println!("{what:<22} {:>6.2} ms, fastest {:>6.2} ms", ms(median), ms(fastest));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
