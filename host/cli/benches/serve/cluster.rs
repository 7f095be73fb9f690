//! Several workers on one PostgreSQL, with a model that takes 200 ms.

use crate::client::Client;
use crate::figure::{Samples, line};
use crate::program::Program;
use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Home, Server};
use std::path::Path;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Turns of each worker at once.
const AT_ONCE: usize = 16;

/// How long each load lasts.
const LOAD: Duration = Duration::from_secs(12);

/// How much more three workers do than one, at least.
const AIM: f64 = 2.7;

/// How much slower a turn may be beside a million sessions: what two runs differ by.
const SLOWER: f64 = 1.2;

/// Sessions in the table for the second half.
const MANY: usize = 1_000_000;

pub async fn figures() {
    let Some(postgres) = Postgres::start(&[]) else { return };
    println!("workers on one PostgreSQL, {AT_ONCE} turns at once each, a model that takes 200 ms");
    let model = Server::ruled(|_| {
        std::thread::sleep(Duration::from_millis(200));
        Answer::text("done")
    });
    let homes: Vec<Home> =
        (0..4).map(|_| Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"))).collect();
    let workspace = homes[0].workspace();
    let files = load(&[start(&homes[3], &workspace, &model)]).await;
    line("  one worker with files, turns a second", &format!("{files:.1}"), "", None);
    let address = postgres.database();
    for home in &homes[..3] {
        home.configure(&format!("tape_store = {address:?}"));
    }
    let mut one = 0.0;
    for count in 1..=3 {
        let programs: Vec<Program> = homes[..count].iter().map(|home| start(home, &workspace, &model)).collect();
        let rate = load(&programs).await;
        if count == 1 {
            one = rate;
        }
        let ratio = rate / one;
        let aim = (count == 3).then(|| (format!("{AIM:.1}"), ratio >= AIM));
        line(&format!("  {count} workers, turns a second"), &format!("{rate:.1}"), &format!("{ratio:.2}"), aim);
    }
    let fast = Server::ruled(|_| Answer::text("done"));
    let program = start(&homes[0], &workspace, &fast);
    let before = cost(&postgres, &address, &program, "http:first").await;
    let sessions = format!(
        "INSERT INTO session (tape, id) SELECT 't' || n, ('http:many' || n)::bytea FROM generate_series(1, {MANY}) n"
    );
    let leases = format!(
        "INSERT INTO lease (name, epoch, owner) SELECT 'session:t' || n, 1, '' FROM generate_series(1, {MANY}) n"
    );
    postgres.sql(&address, &sessions);
    postgres.sql(&address, &leases);
    let after = cost(&postgres, &address, &program, "http:second").await;
    let ratio = after.as_secs_f64() / before.as_secs_f64();
    let aim = Some((format!("{SLOWER:.1}"), ratio <= SLOWER));
    line("  a turn with a million sessions more, ratio", &format!("{ratio:.2}"), "", aim);
}

fn start(home: &Home, workspace: &Path, model: &Server) -> Program {
    let environment = [
        ("BUB_MODEL", "openai:fake-model".to_owned()),
        ("BUB_API_KEY", "none".to_owned()),
        ("BUB_API_BASE", model.base()),
    ];
    Program::start_in(home, workspace, &environment)
}

/// Turns a second.
async fn load(programs: &[Program]) -> f64 {
    // The first turn opens the plugins.
    for program in programs {
        program.turn("warm", "hi").await;
        program.settle();
    }
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for (nth, program) in programs.iter().enumerate() {
        for client in 0..AT_ONCE {
            let (address, token) = (program.address, program.token.clone());
            clients.spawn(async move {
                let mut connection = Client::connect(address, &token).await.expect("it listens");
                let mut turns = 0;
                while begun.elapsed() < LOAD {
                    let session = format!("http:{nth}-{client}-{turns}");
                    let (status, body) = connection.turn(&session, "hi", None).await.expect("it answers");
                    assert_eq!(status, 200, "{body}");
                    turns += 1;
                }
                turns
            });
        }
    }
    let turns: usize = clients.join_all().await.into_iter().sum();
    turns as f64 / begun.elapsed().as_secs_f64()
}

/// Prints what a turn of a session that goes on costs, and returns its median time.
async fn cost(postgres: &Postgres, address: &str, program: &Program, session: &str) -> Duration {
    const TURNS: usize = 200;
    program.turn(session, "hi").await;
    let commits = || {
        let statement = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
        postgres.sql(address, statement).parse::<f64>().expect("a number")
    };
    // The server still has work to do for the rows that were written in bulk.
    postgres.sql(address, "VACUUM (ANALYZE)");
    postgres.sql(address, "CHECKPOINT");
    // The statistics are a second late.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = commits();
    let samples = Samples::take(0, TURNS, async |_| program.turn(session, "hi").await).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let transactions = (commits() - before) / TURNS as f64;
    samples.print("  a turn, with a model that answers at once", None);
    let name = "    transactions a turn, with those behind the answer";
    line(name, &format!("{transactions:.1}"), "", None);
    samples.median()
}
