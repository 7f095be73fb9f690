//! Runs of the program as a process of its own.

use bub_tests::Home;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// Runs `run hi` with these options. Returns the wall time, and the peak resident set in bytes.
pub fn run_once(home: &Home, options: &[&str]) -> (Duration, u64) {
    let mut command = command(home, options);
    let begun = Instant::now();
    let ended = command.spawn().and_then(|child| child.wait4()).expect("the program runs");
    let took = begun.elapsed();
    assert!(ended.status.success(), "the program failed: {}", ended.status);
    (took, ended.rusage.maxrss)
}

/// Runs it once, and waits for the process that it leaves behind: the plugins that later runs call are compiled for speed then.
pub fn warm_up(home: &Home, options: &[&str]) {
    run_once(home, options);
    // `command` sets no cache directory, so it is in the home.
    let cache = home.bub_home().join("cache");
    let is_quick = |file: std::fs::DirEntry| file.file_name().to_string_lossy().ends_with("-quick.cwasm");
    while std::fs::read_dir(&cache).expect("it is there").flatten().any(is_quick) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The command `run hi` with these options, in that home and with an empty environment.
pub fn command(home: &Home, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bub-wasm"));
    command
        .args(["run", "hi"])
        .args(options)
        .current_dir(home.workspace())
        .env_clear()
        .env("HOME", home.bub_home())
        .env("BUB_HOME", home.bub_home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}
