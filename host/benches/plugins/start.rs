//! Starts of the program with plugins whose compiled code is in the cache.

use crate::figure::{Samples, line, time};
use crate::host::home;
use bub_tests::component::with_section;
use bub_tests::{Home, programs};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Plugins that are dropped in.
const PLUGINS: usize = 20;

const WARM_UP: usize = 5;
const RUNS: usize = 40;

/// What they may cost together.
const TARGET: Duration = Duration::from_millis(10);

/// Runs with and without take turns, so that what else the machine does meets both.
pub fn figures() {
    let homes = [home(), home()];
    let bytes = fs::read(programs::PROMPT_UPPER).expect("it was built");
    for number in 0..PLUGINS {
        let file = homes[1].bub_home().join(format!("plugins/upper-{number:02}.wasm"));
        fs::write(file, with_section(&bytes, "number", &[number as u8])).expect("the home can be written");
    }
    homes.iter().for_each(Home::grant_hooks);
    let mut samples = [Vec::new(), Vec::new()];
    for run in 0..WARM_UP + RUNS {
        for (home, samples) in homes.iter().zip(&mut samples) {
            let took = run_once(home);
            if run >= WARM_UP {
                samples.push(took);
            }
        }
    }
    let [without, with] = samples.map(Samples::new);
    without.print("`run` without plugins of others", None);
    with.print("`run` with twenty, compiled before", None);
    let more = with.median().saturating_sub(without.median());
    line("  the difference", &time(more), "", Some((time(TARGET), more <= TARGET)));
}

fn run_once(home: &Home) -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bub-wasm"));
    command
        .args(["run", "hi"])
        .current_dir(home.workspace())
        .env_clear()
        .env("HOME", home.bub_home())
        .env("BUB_HOME", home.bub_home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().expect("the program runs");
    let took = begun.elapsed();
    assert!(status.success(), "the program failed: {status}");
    took
}
