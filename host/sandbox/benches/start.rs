//! The time of a program that does nothing, with a sandbox and without: `cargo bench -p bub-sandbox`.

use bub_sandbox::{Backend, Confinement, Limits, Network, Private, Sandbox, Setting};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Starts of each kind. On a machine with other work the fastest one says most.
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
    let plain = times(|| start(&[], &directory));
    print("without", plain);
    if *sandbox.backend() == Backend::None {
        println!("bwrap          is not here: {}", sandbox.why().join("; "));
        return;
    }
    let held = times(|| {
        let wrapped = sandbox.wrap(&confinement, &directory).expect("it is held");
        start(&wrapped.words, &directory);
    });
    print("bwrap", held);
    print("difference", [held[0].saturating_sub(plain[0]), held[1].saturating_sub(plain[1])]);
}

fn start(words: &[OsString], directory: &Path) {
    let mut words = words.iter().map(OsString::as_os_str).chain(["bash", "-c", "true"].map(AsRef::as_ref));
    let mut command = Command::new(words.next().expect("a program"));
    let status = command.args(words).current_dir(directory).status().expect("it starts");
    assert!(status.success(), "{status}");
}

/// The median and the fastest.
fn times(mut work: impl FnMut()) -> [Duration; 2] {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    times.sort();
    [times[ROUNDS / 2], times[0]]
}

fn print(what: &str, [median, fastest]: [Duration; 2]) {
    println!("{what:<12} median {:>6.2} ms, fastest {:>6.2} ms", ms(median), ms(fastest));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
