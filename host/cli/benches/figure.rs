//! Samples, and the table of results.

use std::time::{Duration, Instant};

/// Durations in the order of measurement.
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Wraps durations that were measured elsewhere; at least one.
    pub fn new(samples: Vec<Duration>) -> Self {
        assert!(!samples.is_empty(), "nothing was measured");
        Self(samples)
    }

    /// Measures `count` runs of `work` after `warm_up` discarded ones. `work` gets the number of the run.
    pub async fn take(warm_up: usize, count: usize, mut work: impl AsyncFnMut(usize)) -> Self {
        let mut samples = Vec::with_capacity(count);
        for run in 0..warm_up + count {
            let begun = Instant::now();
            work(run).await;
            let took = begun.elapsed();
            if run >= warm_up {
                samples.push(took);
            }
        }
        Self::new(samples)
    }

    /// The median.
    pub fn median(&self) -> Duration {
        self.at(50)
    }

    /// A percentile.
    pub fn at(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * percent / 100]
    }

    /// One line of the table.
    pub fn print(&self, name: &str, target: Option<Duration>) {
        let median = self.median();
        let target = target.map(|target| (time(target), median <= target));
        line(name, &time(median), &time(self.at(90)), target);
    }
}

/// The names of the columns.
pub fn heading() {
    println!("{:<48} {:>10} {:>10} {:>10}", "", "median", "90 %", "target");
}

/// A line for an amount of memory, in bytes.
pub fn print_memory(name: &str, bytes: u64, target: u64) {
    line(name, &megabytes(bytes), "", Some((megabytes(target), bytes <= target)));
}

/// A line of the table.
pub fn line(name: &str, value: &str, high: &str, target: Option<(String, bool)>) {
    let (target, is_met) = target.unwrap_or((String::new(), true));
    let verdict = if is_met { "" } else { "  missed" };
    println!("{name:<48} {value:>10} {high:>10} {target:>10}{verdict}");
}

/// A duration in a suitable unit.
pub fn time(value: Duration) -> String {
    let micros = value.as_secs_f64() * 1e6;
    if micros < 1e3 { format!("{micros:.1} µs") } else { format!("{:.2} ms", micros / 1e3) }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
