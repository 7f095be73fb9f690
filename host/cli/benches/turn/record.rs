//! What recording costs: turns with `record = "off"` and `record = "all"`, in pairs, and the time of all threads beside.

use crate::figure::{Samples, line, time};
use crate::host::{home, said};
use bub_config::{Config, RecordMode};
use bub_model::{Secret, Settings};
use bub_runtime::host::Host;
use bub_tests::{Answer, Server};
use std::fs;
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

/// The time until a model answers, in the second part.
const THINKS: Duration = Duration::from_millis(100);

pub async fn figures() {
    pairs("agent turn, model on loopback", PAIRS, Duration::ZERO).await;
    pairs("  the same, a model that thinks for 100 ms", PAIRS / 8, THINKS).await;
}

async fn pairs(name: &str, count: usize, thinks: Duration) {
    let home = home();
    fs::write(home.workspace().join("notes.txt"), "a line\n".repeat(50)).expect("a file");
    let server = Server::ruled(move |request| {
        std::thread::sleep(thinks);
        let messages = request.messages();
        match messages.last().is_some_and(|last| last["role"] == "tool") {
            true => Answer::text("hello"),
            false => Answer::tool_call("fs_read", r#"{"path":"notes.txt"}"#),
        }
    });
    let mut hosts = Vec::new();
    for mode in [RecordMode::Off, RecordMode::All] {
        let mut config = Config::load(Some(&home.bub_home())).expect("an empty configuration");
        config.model = Settings::new("openai:fake-model");
        config.model.api_key = Some(Secret::new("sk-fake"));
        config.model.api_base = Some(server.base());
        config.program = env!("CARGO_BIN_EXE_bub-wasm").into();
        config.record = mode;
        hosts.push(
            Host::start(config, &home.workspace(), Box::new(crate::host::Nowhere)).await.expect("the host starts"),
        );
    }
    let (mut took, mut busy) = ([Vec::new(), Vec::new()], [Duration::ZERO; 2]);
    let begun = Instant::now();
    for pair in 0..WARM_UP.min(count) + count {
        if took[0].len() >= count / 10 && begun.elapsed() > MAX_TIME {
            break;
        }
        // Which of the two is first changes, so that neither is always the one after the other.
        for turn in 0..2 {
            let which = (pair + turn) % 2;
            let (latency, processor) = one(&hosts[which], &format!("bench:{which}:{pair}")).await;
            if pair >= WARM_UP.min(count) || begun.elapsed() > MAX_TIME {
                took[which].push(latency);
                busy[which] += processor;
            }
        }
    }
    let pairs = u32::try_from(took[0].len()).unwrap_or(1);
    let [off, all] = took.map(Samples::new);
    off.print(&format!("{name}, not recorded"), None);
    all.print(&format!("{name}, recorded"), None);
    let more = (all.median().as_secs_f64() / off.median().as_secs_f64() - 1.0) * 100.0;
    line("  longer", &format!("{more:.1} %"), "", Some((format!("{TARGET:.0} %"), more <= TARGET)));
    let each = busy.map(|busy| busy / pairs);
    line("  processor time, not recorded", &time(each[0]), "", None);
    line("  processor time, recorded and written", &time(each[1]), "", None);
    for host in hosts {
        host.close().await;
    }
}

/// The latency of a turn, and the time of all threads until it is recorded.
async fn one(host: &Arc<Host>, session: &str) -> (Duration, Duration) {
    let (begun, before) = (Instant::now(), processor_time());
    assert_eq!(said(host, session).await, "hello");
    let latency = begun.elapsed();
    host.rest().await;
    host.flush_recordings().await;
    (latency, processor_time().saturating_sub(before))
}

/// What all threads of this process have computed so far.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(now).unwrap_or_default()
}
