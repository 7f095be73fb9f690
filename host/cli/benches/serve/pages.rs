//! The cost of open pages: each reads the streams of events and of approvals, and the list of sessions now and then.

use crate::figure::{line, print_memory};
use crate::load::as_fast_as_it_goes;
use crate::program::Program;
use bub_tests::{Home, programs};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const PAGES: usize = 50;

/// Turns of a measurement, and pairs of measurements.
const TURNS: usize = 6_000;
const PAIRS: usize = 5;

/// Target memory of all pages, in bytes.
const MEMORY: u64 = 20_000_000;

/// Target share of the turns in time.
const SHARE: f64 = 0.05;

/// How often a page reads the list of sessions while turns run.
const LIST_INTERVAL: Duration = Duration::from_secs(10);

pub async fn figures() {
    let home = Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"));
    home.plugin("echo", programs::ECHO);
    home.grant_hooks();
    let program = Arc::new(Program::start(&home, &[]));
    program.turn("warm", "hi").await;
    program.settle();
    println!("{PAGES} open pages, {PAIRS} pairs of {TURNS} turns");
    // The first load warms what both sides use.
    as_fast_as_it_goes(&program, TURNS).await;

    let (mut ratios, mut memories) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let without = rate(&program).await;
        let before = program.memory();
        let pages = open(&program).await;
        let with = rate(&program).await;
        memories.push(program.memory().saturating_sub(before));
        drop(pages);
        ratios.push(1.0 - with / without);
        sleep(Duration::from_secs(1)).await;
    }
    ratios.sort_by(f64::total_cmp);
    memories.sort_unstable();
    let share = ratios[PAIRS / 2];
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let target = Some((percent(SHARE), share <= SHARE));
    line("  fewer turns a second", &percent(share), &percent(ratios[PAIRS - 1]), target);
    print_memory("  more memory", memories[PAIRS / 2], MEMORY);
}

/// Turns a second.
async fn rate(program: &Arc<Program>) -> f64 {
    let begun = Instant::now();
    as_fast_as_it_goes(program, TURNS).await;
    TURNS as f64 / begun.elapsed().as_secs_f64()
}

/// Opens the pages; they are closed when this is dropped.
async fn open(program: &Arc<Program>) -> JoinSet<()> {
    let mut pages = JoinSet::new();
    for page in 0..PAGES {
        for path in ["/v1/events?interval=250", "/v1/approvals/stream"] {
            let mut stream = ask(program, path).await;
            pages.spawn(async move { while read(&mut stream).await > 0 {} });
        }
        let program = Arc::clone(program);
        pages.spawn(async move {
            sleep(LIST_INTERVAL * u32::try_from(page).unwrap_or(0) / PAGES as u32).await;
            loop {
                let mut list = ask(&program, "/v1/sessions?max=256").await;
                while read(&mut list).await > 0 {}
                sleep(LIST_INTERVAL).await;
            }
        });
    }
    pages
}

async fn ask(program: &Program, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(program.address).await.expect("it listens");
    let token = &program.token;
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("it reads");
    stream
}

/// Reads and drops what there is; 0 at the end.
async fn read(stream: &mut TcpStream) -> usize {
    stream.read(&mut [0; 16 << 10]).await.unwrap_or(0)
}
