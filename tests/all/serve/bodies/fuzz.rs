//! Malformed bodies from 64 callers at once: they take at most 64 MB more than the idle program, each is answered, and
//! the server continues. The duration of the health check meanwhile is printed.
//!
//! `corpus/bodies` holds shapes; each request sends one of them, enlarged and changed at random. To look for more:
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-wasm --test all -- --exact serve::bodies::fuzz::look_for_more --ignored --nocapture
//! ```

use super::super::{echo, say, serve, token_of};
use crate::home;
use bub_test_support::Chance;
use bub_test_support::fuzz::Budget;
use bub_tests::{Said, Serve};
use serde::Deserialize;
use std::fs;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/bodies");

const CALLERS: u64 = 64;

/// The most that they may take together, above the idle program, in bytes.
const MOST: u64 = 64_000_000;

/// The largest body, in bytes: a little more than the limit.
const LARGEST: usize = 33 << 20;

/// The largest that strangers may send, in bytes.
const ALLOWED: usize = 2 << 20;

/// A body: one unit again and again, between a beginning and an end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    path: String,
    prefix: String,
    unit: String,
    suffix: String,
}

/// The requests of one caller.
struct Sent {
    shape: Shape,
    bytes: usize,
    is_chunked: bool,
    has_token: bool,
}

fn corpus() -> Vec<Shape> {
    let mut files: Vec<_> =
        fs::read_dir(CORPUS).expect("it is there").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let shape = |path| serde_json::from_str(&fs::read_to_string(path).expect("it can be read")).expect("it is a shape");
    files.into_iter().map(shape).collect()
}

fn make(shapes: &[Shape], seed: u64) -> Sent {
    let mut chance = Chance::new(seed);
    let mut shape = chance.one_of(shapes).clone();
    // Units and ends of others, and one character changed.
    if chance.below(3) == 0 {
        shape.unit = chance.one_of(shapes).unit.clone();
    }
    if chance.below(4) == 0 {
        shape.suffix = chance.one_of(shapes).suffix.clone();
    }
    if chance.below(4) == 0 {
        let at = chance.below(shape.unit.len());
        let with = *chance.one_of(&["[", "]", "{", "}", ",", ":", "\"", "\\", "0", " ", "\\u0000"]);
        if shape.unit.is_char_boundary(at) && shape.unit.is_char_boundary(at + 1) {
            shape.unit.replace_range(at..=at, with);
        }
    }
    let bytes = *chance.one_of(&[1_000, 60_000, 70_000, 1 << 20, 3 << 20, ALLOWED, 9 << 20, LARGEST]);
    Sent { shape, bytes, is_chunked: chance.below(4) == 0, has_token: chance.below(8) != 0 }
}

/// Sends it, as far as it is taken, and reads what is answered: nothing, where the connection was reset first.
fn send(serve: &Serve<'_>, token: &str, sent: &Sent) -> Option<Said> {
    let Shape { path, prefix, unit, suffix } = &sent.shape;
    let count = sent.bytes.saturating_sub(prefix.len() + suffix.len()) / unit.len().max(1);
    let length = match sent.is_chunked {
        true => "transfer-encoding: chunked".to_owned(),
        false => format!("content-length: {}", prefix.len() + count * unit.len() + suffix.len()),
    };
    let token = if sent.has_token { token } else { "none" };
    let mut stream = serve.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\n{length}\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
    // One block of units, sent again and again: the callers share a process, too.
    let each = ((64 << 10) / unit.len().max(1)).clamp(1, count.max(1));
    let block = unit.repeat(each);
    let blocks = std::iter::repeat_n(block.as_str(), count / each);
    let pieces = [prefix.as_str()].into_iter().chain(blocks).chain([&block[..count % each * unit.len()], suffix]);
    let write = |piece: &str| match sent.is_chunked {
        true => stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).is_ok(),
        false => stream.write_all(piece.as_bytes()).is_ok(),
    };
    let is_taken = pieces.filter(|piece| !piece.is_empty()).all(write);
    if is_taken && sent.is_chunked {
        let _ = stream.write_all(b"0\r\n\r\n");
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    (!answer.is_empty()).then(|| Said::parse(&answer))
}

/// 64 bodies at once. How long the health check took at worst, and the most memory above `idle`.
fn wave(serve: &Serve<'_>, token: &str, bodies: &[Sent], idle: u64) -> (Duration, u64) {
    serve.program().forget_peak();
    let is_over = AtomicBool::new(false);
    let worst = thread::scope(|scope| {
        let health = scope.spawn(|| {
            let mut worst = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                assert_eq!(serve.strange("GET", "/healthz").send().status, 200);
                worst = worst.max(begun.elapsed());
                thread::sleep(Duration::from_millis(5));
            }
            worst
        });
        let callers: Vec<_> = bodies.iter().map(|sent| (sent, scope.spawn(move || send(serve, token, sent)))).collect();
        for (sent, caller) in callers {
            let said = caller.join().expect("a caller comes to its end");
            let status = said.as_ref().map(|said| said.status);
            let is_refused = status.is_none_or(|status| matches!(status, 400 | 401 | 404 | 413 | 503));
            assert!(is_refused, "{:?} of {} bytes: {said:?}", sent.shape, sent.bytes);
        }
        is_over.store(true, Ordering::Relaxed);
        health.join().expect("it was well all the time")
    });
    let peak = serve.program().peak().unwrap_or_default().saturating_sub(idle);
    assert!(peak <= MOST, "{peak} bytes above the idle program's {idle}");
    (worst, peak)
}

/// Prints a figure, also where the test goes well.
fn tell(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn waves(seeds: impl Iterator<Item = u64>) {
    let (home, model) = (home(), echo());
    home.configure("[quotas.anonymous]\nrequests_per_minute = 1_000_000_000");
    let token = token_of(&home, "stranger", "anonymous", r#""turns""#, "");
    let serve = serve(&home, &model);
    let shapes = corpus();
    assert!(shapes.len() >= 10, "{} shapes", shapes.len());
    say(&serve, "http:still", "there");
    let idle = serve.program().memory().unwrap_or_default();
    let (mut worst, mut peak, mut count) = (Duration::ZERO, 0, 0);
    let mut next = 0;
    for seed in seeds {
        next = seed + 1;
        let bodies: Vec<Sent> = (0..CALLERS).map(|caller| make(&shapes, seed * CALLERS + caller)).collect();
        let (health, memory) = wave(&serve, &token, &bodies, idle);
        (worst, peak, count) = (worst.max(health), peak.max(memory), count + CALLERS);
    }
    tell(&format!(
        "{count} bodies: {peak} bytes above {idle}, the health check took at most {worst:?}; next seed {next}"
    ));
    assert_eq!(say(&serve, "http:still", "there")["model_output"], "you said: there");
}

#[test]
fn bodies_of_64_callers_take_at_most_64_mb() {
    waves(0..2);
}

/// The largest of one shape from all callers at once.
#[test]
fn no_shape_takes_more_when_all_callers_send_it() {
    let (home, model) = (home(), echo());
    home.configure("[quotas.anonymous]\nrequests_per_minute = 1_000_000_000");
    let token = token_of(&home, "stranger", "anonymous", r#""turns""#, "");
    let serve = serve(&home, &model);
    say(&serve, "http:still", "there");
    let idle = serve.program().memory().unwrap_or_default();
    for shape in corpus() {
        let body = |_| Sent { shape: shape.clone(), bytes: ALLOWED, is_chunked: false, has_token: true };
        let (health, memory) = wave(&serve, &token, &(0..CALLERS).map(body).collect::<Vec<_>>(), idle);
        tell(&format!("{:?}: {memory} bytes, the health check took at most {health:?}", shape.unit));
    }
}

/// Goes on for `BUB_FUZZ_SECONDS`, from `BUB_FUZZ_SEED`.
#[test]
#[ignore = "runs for `BUB_FUZZ_SECONDS`"]
fn look_for_more() {
    let budget = Budget::from_environment(1);
    waves((budget.first_seed..).take_while(|_| budget.is_left()));
}
