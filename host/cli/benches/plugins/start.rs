//! Starts of the program with plugins whose compiled code is in the cache.

use crate::child::{run_once, warm_up};
use crate::figure::{Samples, line, print_memory, time};
use crate::host::home;
use bub_tests::component::with_section;
use bub_tests::{Home, programs};
use std::fs;
use std::time::Duration;

/// Number of plugins.
const PLUGINS: usize = 20;

const WARM_UP: usize = 5;
const RUNS: usize = 40;

/// The target for all of them together.
const TARGET: Duration = Duration::from_millis(10);

const TARGET_MEMORY: u64 = 80_000_000;

/// Alternates runs with and without plugins, so that other load on the machine affects both.
pub fn figures() {
    let homes = [home(), home()];
    let bytes = fs::read(programs::PROMPT_UPPER).expect("it was built");
    for number in 0..PLUGINS {
        let file = homes[1].bub_home().join(format!("plugins/upper-{number:02}.wasm"));
        fs::write(file, with_section(&bytes, "number", &[number as u8])).expect("the home can be written");
    }
    homes.iter().for_each(Home::grant_hooks);
    homes.iter().for_each(|home| warm_up(home, &[]));
    let mut samples = [Vec::new(), Vec::new()];
    let mut peak = 0;
    for run in 0..WARM_UP + RUNS {
        for (home, samples) in homes.iter().zip(&mut samples) {
            let (took, bytes) = run_once(home, &[]);
            if run >= WARM_UP {
                samples.push(took);
                peak = peak.max(bytes);
            }
        }
    }
    let [without, with] = samples.map(Samples::new);
    without.print("`run` without plugins of others", None);
    with.print("`run` with twenty, compiled before", None);
    let more = with.median().saturating_sub(without.median());
    line("  the difference", &time(more), "", Some((time(TARGET), more <= TARGET)));
    print_memory("  peak memory, of all runs", peak, TARGET_MEMORY);
}
