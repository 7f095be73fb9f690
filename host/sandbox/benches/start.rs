//! The time of a program that does nothing, with a sandbox and without: `cargo bench -p bub-sandbox`.

use bub_sandbox::{Backend, Confinement, Limits, Network, Private, Sandbox, Setting};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Starts of each kind; the median counts.
const ROUNDS: usize = 200;

fn main() {
    let workspace = tempfile::tempdir().expect("a directory");
    let private = Private::default();
    let confinement = Confinement {
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
    let directory = confinement.workspace.clone();
    let sandbox = Sandbox::find(Setting::Bwrap, Path::new("/proc/self/exe"));
    let plain = median(|| start(&[], &directory));
    println!("without        {:>6.2} ms", ms(plain));
    if *sandbox.backend() == Backend::None {
        println!("bwrap          is not here: {}", sandbox.why().join("; "));
        return;
    }
    let held = median(|| {
        let wrapped = sandbox.wrap(&confinement, &directory).expect("it is held");
        start(&wrapped.words, &directory);
    });
    println!("bwrap          {:>6.2} ms", ms(held));
    println!("difference     {:>6.2} ms", ms(held.saturating_sub(plain)));
}

fn start(words: &[OsString], directory: &Path) {
    let mut words = words.iter().map(OsString::as_os_str).chain(["bash", "-c", "true"].map(AsRef::as_ref));
    let mut command = Command::new(words.next().expect("a program"));
    let status = command.args(words).current_dir(directory).status().expect("it starts");
    assert!(status.success(), "{status}");
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
