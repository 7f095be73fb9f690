//! Workers whose database fails over to its standby.

use super::chaos::{Asked, Endpoint, ask, check, client_of};
use super::{DEADLINE, Ending, go_on};
use crate::home;
use bub_test_support::postgres::{Postgres, Standby};
use bub_tests::{Answer, Home, Serve, Server};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// Clients that ask one message after the other.
const CLIENTS: usize = 6;

/// The turns of the slow messages that run.
const SLOW: &str = "SELECT count(*) FROM message m JOIN session s USING (tape) \
                    WHERE m.state = 1 AND convert_from(s.id, 'UTF8') LIKE 'http:slow%'";

/// Two workers that know both servers of a database.
struct Pair {
    homes: [Home; 2],
    postgres: Postgres,
    /// Of the primary.
    primary: String,
    /// Of whichever server takes writes.
    address: String,
    /// Whether the model answers messages that begin with `slow`.
    answers: Arc<AtomicBool>,
    model: Server,
}

impl Pair {
    /// `None`: PostgreSQL is not installed.
    fn new(config: &str) -> Option<(Self, Standby)> {
        let postgres = Postgres::start(&[])?;
        let primary = postgres.database();
        let address = Standby::either(&primary);
        let standby = Standby::start(&postgres);
        let homes = [(); 2].map(|()| {
            let home = home().without_tools();
            home.configure(&format!("tape_store = {address:?}\nlock_wait = 60\n{config}"));
            home
        });
        let answers = Arc::new(AtomicBool::new(false));
        let gate = Arc::clone(&answers);
        let model = Server::ruled(move |request| {
            let content = request.last_content();
            let last = content.lines().last().unwrap_or_default();
            sleep(Duration::from_millis(20));
            while last.starts_with("slow") && !gate.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(10));
            }
            Answer::text(&format!("you said: {last}"))
        });
        Some((Self { homes, postgres, primary, address, answers, model }, standby))
    }
}

fn serve<'home>(homes: &'home [Home; 2], nth: usize, model: &Server) -> Serve<'home> {
    let workspace = homes[0].workspace();
    let run = homes[nth].bub(["-w", workspace.to_str().unwrap(), "serve", "--listen", "127.0.0.1:0"]);
    Serve::start(run.watched().model(model), &homes[nth].bub_home())
}

/// Waits until a statement returns that.
#[track_caller]
fn until(postgres: &Postgres, address: &str, statement: &str, expected: &str) {
    let start = Instant::now();
    while postgres.sql(address, statement) != expected {
        assert!(start.elapsed() < DEADLINE, "{statement} is not `{expected}`");
        sleep(Duration::from_millis(50));
    }
}

/// The outcome of a message, however often it has to be asked for.
fn answered(endpoint: &Endpoint, key: &str, session: &str) -> Value {
    (0..60).find_map(|_| ask(endpoint, key, session)).expect("the message has an outcome")
}

#[test]
fn a_failover_to_a_synchronous_standby_in_the_middle_of_turns_loses_no_message_and_no_entry() {
    // A claim that was made and not answered, because the primary was killed in between, holds its session for so long.
    let Some((mut pair, standby)) = Pair::new("lease_seconds = 15") else { return };
    let Pair { homes, postgres, address, answers, model, .. } = &mut pair;
    standby.make_synchronous(postgres);
    let serves = [serve(homes, 0, model), serve(homes, 1, model)];
    let endpoints = Mutex::new(serves.iter().map(Endpoint::new).collect::<Vec<_>>());
    let (ends, asked) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    // Clients go on before, during and after the failover.
    let go_on = || go_on(&asked, 20);
    let slow: Vec<Asked> = scope(|scope| {
        let (_ending, ends, asked, endpoints) = (Ending(&ends), &ends, &asked, &endpoints);
        for client in 0..CLIENTS {
            scope.spawn(move || client_of(7, client, ends, asked, endpoints));
        }
        let slow: Vec<_> = (0..2)
            .map(|nth| {
                let endpoint = endpoints.lock().unwrap()[nth].clone();
                let (key, session) = (format!("slow{nth}"), format!("http:slow{nth}"));
                scope.spawn(move || {
                    let outcome = Some(answered(&endpoint, &key, &session));
                    Asked { key, session, outcome }
                })
            })
            .collect();
        until(postgres, address, SLOW, "2");
        go_on();
        postgres.kill();
        // Long enough for requests that find no database.
        sleep(Duration::from_millis(1000));
        standby.promote(postgres);
        answers.store(true, Ordering::SeqCst);
        let slow = slow.into_iter().map(|slow| slow.join().unwrap()).collect();
        go_on();
        slow
    });
    for Asked { key, outcome, .. } in &slow {
        let outcome = outcome.as_ref().unwrap();
        assert_eq!(outcome["model_output"], format!("you said: {key}"), "a turn that waits for its model goes on");
    }
    let mut asked = asked.into_inner().unwrap();
    let errors = asked.iter().filter_map(|asked| asked.outcome.as_ref()?["error"]["message"].as_str());
    let errors: Vec<&str> = errors.collect();
    eprintln!("{} messages, of which {} turns could not write", asked.len(), errors.len());
    let is_clear = |error: &&str| error.contains("the database") && error.lines().count() == 1;
    assert!(errors.iter().all(is_clear), "{errors:?}");
    asked.extend(slow);
    let wrong = check(postgres, address, &asked);
    assert!(wrong.is_empty(), "{wrong:#?}");
    for serve in &serves {
        serve.program().wait_for("failed over to timeline 2, with all that it had acknowledged to this process");
    }
}

/// Waits until the standby has what the primary has written.
fn follow(standby: &Standby, postgres: &Postgres, primary: &str) {
    let written = postgres.sql("postgres", "SELECT pg_current_wal_flush_lsn()");
    until(postgres, &standby.address(primary), &format!("SELECT pg_last_wal_replay_lsn() >= '{written}'"), "t");
}

#[test]
fn writes_that_a_failover_to_an_asynchronous_standby_has_lost_are_noticed_and_named() {
    let Some((mut pair, standby)) = Pair::new("lease_seconds = 9") else { return };
    let Pair { homes, postgres, primary, address, answers, model } = &mut pair;
    let serves = [serve(homes, 0, model), serve(homes, 1, model)];
    let endpoints: Vec<_> = serves.iter().map(Endpoint::new).collect();
    let says = |nth: usize, key: &str| {
        let outcome = answered(&endpoints[nth], key, "http:birds");
        assert_eq!(outcome["model_output"], format!("you said: {key}"), "{outcome}");
        Asked { key: key.to_owned(), session: "http:birds".to_owned(), outcome: Some(outcome) }
    };
    let mut asked = vec![says(0, "heron")];
    follow(&standby, postgres, primary);
    standby.cut_off(postgres);
    says(0, "stork");
    let outcome = scope(|scope| {
        let slow = scope.spawn(|| answered(&endpoints[0], "slow", "http:slow"));
        until(postgres, address, SLOW, "1");
        postgres.kill();
        standby.promote(postgres);
        answers.store(true, Ordering::SeqCst);
        slow.join().unwrap()
    });
    let message = outcome["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("the database has failed over and lost writes that it had acknowledged"), "{outcome}");
    serves[1].program().wait_for("the database has failed over to timeline 2, with all that it had acknowledged");
    let told = serves[0].program().told();
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("has lost")).collect();
    assert!(lines.len() == 1 && lines[0].contains("append to tape"), "{told}");
    // A lost message can be said again, under the same key.
    let again = answered(&endpoints[1], "slow", "http:slow");
    asked.push(Asked { key: "slow".to_owned(), session: "http:slow".to_owned(), outcome: Some(again) });
    asked.push(says(0, "crane"));
    let body = &model.requests().pop().unwrap().body;
    assert!(
        body.contains("heron") && !body.contains("stork"),
        "the turn knows what is on the tape, and no more: {body}"
    );
    asked.push(says(1, "stork"));
    let wrong = check(postgres, address, &asked);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(asked.iter().all(|asked| asked.outcome.as_ref().unwrap()["error"].is_null()));
}

#[test]
fn a_former_primary_that_takes_writes_again_is_refused() {
    let Some((mut pair, standby)) = Pair::new("") else { return };
    let Pair { homes, postgres, primary, model, .. } = &mut pair;
    let serve = serve(homes, 0, model);
    let endpoint = Endpoint::new(&serve);
    answered(&endpoint, "heron", "http:birds");
    follow(&standby, postgres, primary);
    postgres.kill();
    standby.promote(postgres);
    answered(&endpoint, "stork", "http:birds");
    postgres.start_again();
    let new = standby.address(primary);
    postgres.sql(
        &new,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                        AND pid <> pg_backend_pid()",
    );
    let refused = super::chaos::ask_once(&endpoint, "crane", "http:birds");
    assert!(refused.is_err(), "{refused:?}");
    serve
        .program()
        .wait_for("a former primary of the database takes writes again (timeline 1; this process has used timeline 2)");
    assert_eq!(postgres.sql(primary, "SELECT count(*) FROM message"), "1", "nothing was written to it");
    postgres.kill();
    assert_eq!(answered(&endpoint, "crane", "http:birds")["model_output"], "you said: crane");
    assert_eq!(postgres.sql(&new, "SELECT count(*) FROM message"), "3");
}
