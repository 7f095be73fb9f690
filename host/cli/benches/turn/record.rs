//! What recording costs: turns with `record = "off"` and `record = "all"`, in pairs, and the time of all threads beside.

use crate::figure::{Samples, line, time};
use crate::host::{home, said};
use bub_config::{Config, DEFAULT_MODEL, RecordMode};
use bub_model::{Secret, Settings};
use bub_runtime::host::Host;
use bub_tests::{Answer, Server};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pairs of turns of one pair of hosts.
const PAIRS: usize = 300;

/// Pairs before those that count.
const WARM_UP: usize = 40;

/// The longest time that the turns of one pair of hosts take, once it has a tenth of them.
const MAX_TIME: Duration = Duration::from_secs(30);

/// How much longer a turn may take with recording, in percent.
const TARGET: f64 = 5.0;

/// The time until a model answers, in the second part: less than any real one takes.
const THINKS: Duration = Duration::from_millis(50);

/// Turns after each of which the writing is waited for, so that its processor time is that of the turn.
const ALONE: usize = 50;

pub async fn figures() {
    pairs("turn, offline model, at once", PAIRS, None).await;
    pairs("  the same, a model that thinks for 50 ms", PAIRS / 8, Some(THINKS)).await;
}

/// What turns of two hosts took, by whether they were recorded: the latency of each, and their processor time.
#[derive(Default)]
struct Took {
    latency: [Vec<Duration>; 2],
    busy: [Duration; 2],
}

/// Turns of hosts of which one records: their latency back to back, and the processor time of each, writing included.
///
/// Of two hosts in a process, the second is a little faster, whether both record or neither.
/// So the one that records is the second of the first two, and the first of the others.
async fn pairs(name: &str, count: usize, thinks: Option<Duration>) {
    let (mut took, mut longer) = (Took::default(), Vec::new());
    for order in [[RecordMode::Off, RecordMode::All], [RecordMode::All, RecordMode::Off]] {
        let part = turns(order, count, thinks).await;
        longer.push(more(&part.latency));
        for which in 0..2 {
            took.latency[which].extend(&part.latency[which]);
            took.busy[which] += part.busy[which] / 2;
        }
    }
    let more = longer.iter().sum::<f64>() / 2.0;
    let [off, all] = took.latency.map(Samples::new);
    off.print(&format!("{name}, not recorded"), None);
    all.print(&format!("{name}, recorded"), None);
    line("  longer", &format!("{more:.1} %"), "", Some((format!("{TARGET:.0} %"), more <= TARGET)));
    line(
        "  longer, started as the second and as the first",
        &format!("{:.1} and {:.1} %", longer[0], longer[1]),
        "",
        None,
    );
    line("  processor time, not recorded", &time(took.busy[0]), "", None);
    line("  processor time, recorded and written", &time(took.busy[1]), "", None);
}

/// Turns of two hosts that are started in this order.
async fn turns(order: [RecordMode; 2], count: usize, thinks: Option<Duration>) -> Took {
    let home = home();
    let server = Server::ruled(move |_| {
        std::thread::sleep(thinks.unwrap_or_default());
        Answer::text("hello")
    });
    let mut hosts = Vec::new();
    for mode in order {
        let mut config = Config::load(Some(&home.bub_home())).expect("an empty configuration");
        config.model = Settings::new(if thinks.is_some() { "openai:fake-model" } else { DEFAULT_MODEL });
        config.model.api_key = Some(Secret::new("sk-fake"));
        config.model.api_base = Some(server.base());
        config.program = env!("CARGO_BIN_EXE_bub-wasm").into();
        config.record = mode;
        hosts.push(
            Host::start(config, &home.workspace(), Box::new(crate::host::Nowhere)).await.expect("the host starts"),
        );
    }
    // By whether they are recorded.
    if order[0] == RecordMode::All {
        hosts.reverse();
    }
    let mut took = Took::default();
    let (begun, warm_up) = (Instant::now(), WARM_UP.min(count));
    for pair in 0..warm_up + count {
        if took.latency[0].len() >= count / 10 && begun.elapsed() > MAX_TIME {
            break;
        }
        // Which of the two is first changes, so that neither is always the one after the other.
        for turn in 0..2 {
            let which = (pair + turn) % 2;
            let latency = one(&hosts[which], which, pair).await;
            if pair >= warm_up {
                took.latency[which].push(latency);
            }
        }
    }
    let alone = ALONE.min(count);
    for number in 0..alone {
        for (which, host) in hosts.iter().enumerate() {
            rest(host).await;
            let before = processor_time();
            one(host, which, PAIRS * 10 + number).await;
            rest(host).await;
            took.busy[which] += processor_time().saturating_sub(before);
        }
    }
    took.busy = took.busy.map(|busy| busy / u32::try_from(alone).unwrap_or(1));
    for host in hosts {
        host.close().await;
    }
    took
}

/// How much longer recorded turns took than others, in percent: the median of four turns at a time,
/// one behind the other. Each host has the first and the last of two pairs, so what changes from second to second, and
/// what follows from the order, is not in it.
fn more([off, all]: &[Vec<Duration>; 2]) -> f64 {
    let sums = |took: &[Duration]| took.chunks_exact(2).map(|two| (two[0] + two[1]).as_secs_f64()).collect::<Vec<_>>();
    let mut more: Vec<f64> = sums(all).iter().zip(sums(off)).map(|(all, off)| (all / off - 1.0) * 100.0).collect();
    more.sort_unstable_by(f64::total_cmp);
    more[more.len() / 2]
}

/// The latency of a turn of one of the sessions, each of which has ten turns.
async fn one(host: &Arc<Host>, which: usize, number: usize) -> Duration {
    let begun = Instant::now();
    assert!(!said(host, &format!("bench:{which}:{}", number / 10)).await.is_empty());
    begun.elapsed()
}

/// Waits until all is done and written.
async fn rest(host: &Arc<Host>) {
    host.rest().await;
    host.flush_recordings().await;
}

/// What all threads of this process have computed so far.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(now).unwrap_or_default()
}
