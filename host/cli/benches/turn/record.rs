//! What recording costs: turns with `record = "off"` and `record = "all"`, in pairs, and the time of all threads beside.

use crate::figure::{Samples, line, time};
use crate::host::{home, said};
use bub_config::{Config, DEFAULT_MODEL, RecordMode};
use bub_model::{Secret, Settings};
use bub_runtime::host::Host;
use bub_tests::{Answer, Server};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pairs of turns.
const PAIRS: usize = 400;

/// Pairs before those that count.
const WARM_UP: usize = 40;

/// The longest time that a part takes, once it has a tenth of its pairs.
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

/// Turns of two hosts, one of which records: their latency back to back, and the processor time of each, writing included.
async fn pairs(name: &str, count: usize, thinks: Option<Duration>) {
    let home = home();
    let server = Server::ruled(move |_| {
        std::thread::sleep(thinks.unwrap_or_default());
        Answer::text("hello")
    });
    let mut hosts = Vec::new();
    for mode in [RecordMode::Off, RecordMode::All] {
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
    let (mut took, mut busy) = ([Vec::new(), Vec::new()], [Duration::ZERO; 2]);
    let (begun, warm_up) = (Instant::now(), WARM_UP.min(count));
    for pair in 0..warm_up + count {
        if took[0].len() >= count / 10 && begun.elapsed() > MAX_TIME {
            break;
        }
        // Which of the two is first changes, so that neither is always the one after the other.
        for turn in 0..2 {
            let which = (pair + turn) % 2;
            let latency = one(&hosts[which], which, pair).await;
            if pair >= warm_up {
                took[which].push(latency);
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
            busy[which] += processor_time().saturating_sub(before);
        }
    }
    let more = more(&took);
    let [off, all] = took.map(Samples::new);
    off.print(&format!("{name}, not recorded"), None);
    all.print(&format!("{name}, recorded"), None);
    line("  longer", &format!("{more:.1} %"), "", Some((format!("{TARGET:.0} %"), more <= TARGET)));
    let each = busy.map(|busy| busy / u32::try_from(alone).unwrap_or(1));
    line("  processor time, not recorded", &time(each[0]), "", None);
    line("  processor time, recorded and written", &time(each[1]), "", None);
    for host in hosts {
        host.close().await;
    }
}

/// How much longer turns of the second host took than those of the first, in percent: the median of four turns at a time,
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
