//! Several processes, each with a home of its own, on one database: turns of one session, and what becomes of those that are
//! interrupted.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bub_test_support::postgres::Postgres;
use bub_test_support::round_trips::RoundTrips;
use bub_tests::{Answer, Home, Run, Server};
use serde_json::{Value, json};

use super::databased;

const PATIENCE: Duration = Duration::from_secs(120);

/// `run` of another process that shares the workspace and the database, and nothing else.
fn elsewhere<'a>(home: &'a Home, arguments: &[&str]) -> Run<'a> {
    let other = home.bub_home().with_file_name("elsewhere");
    fs::create_dir_all(&other).unwrap();
    fs::copy(home.bub_home().join("config.toml"), other.join("config.toml")).unwrap();
    home.run(arguments.iter().copied()).env("BUB_HOME", &other)
}

/// The conversation: kinds and payloads of what is no event.
fn conversation(postgres: &Postgres, address: &str) -> Vec<(String, Value)> {
    let statement = "SELECT convert_from(e.kind, 'UTF8') || ' ' || convert_from(e.payload, 'UTF8') \
                     FROM entry e JOIN tape t ON t.number = e.tape WHERE t.listed ORDER BY e.id";
    let all = postgres.sql(address, statement);
    let entries = all.lines().filter_map(|line| line.split_once(' '));
    let said = entries.filter(|(kind, _)| !matches!(*kind, "event" | "anchor" | "system"));
    said.map(|(kind, payload)| (kind.to_owned(), serde_json::from_str(payload).unwrap())).collect()
}

fn kinds(conversation: &[(String, Value)]) -> Vec<&str> {
    conversation.iter().map(|(kind, _)| kind.as_str()).collect()
}

fn bash(cmd: &str) -> Answer {
    Answer::tool_call("bash", &json!({ "cmd": cmd, "timeout_seconds": 600 }).to_string())
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn written(home: &Home, name: &str) -> PathBuf {
    let file = home.workspace().join(name);
    until(name, || fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
    file
}

fn is_alive(id: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", id.trim())) else { return false };
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next().map(str::to_owned));
    !matches!(state.as_deref(), None | Some("Z" | "X"))
}

#[test]
fn turns_of_one_session_in_two_homes_follow_one_another() {
    let Some((home, postgres, address)) = databased("") else { return };
    home.run(["ECHO:first"]).finish().says("[cli:local]\nfirst\n");
    let texts: Vec<String> = (0..6).map(|number| format!("ECHO:turn {number}")).collect();
    // All are prepared before the first starts, since that rewrites the configuration, which each reads.
    let runs: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| if number % 2 == 0 { home.run([text.as_str()]) } else { elsewhere(&home, &[text]) })
        .collect();
    let running: Vec<_> = runs.into_iter().map(Run::start).collect();
    for (number, turn) in running.into_iter().enumerate() {
        turn.finish().says(&format!("[cli:local]\nturn {number}\n"));
    }
    let said = conversation(postgres, &address);
    assert_eq!(said.len(), 14, "{said:?}");
    for turn in said.chunks(2) {
        let (asked, answered) = (turn[0].1["content"].as_str().unwrap(), turn[1].1["content"].as_str().unwrap());
        assert!(asked.ends_with(&format!("ECHO:{answered}")), "{said:?}");
    }
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM lease WHERE until IS NOT NULL"), "0", "all are released");
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM journal"), "0");
    let journals = fs::read_dir(home.tapes_dir()).into_iter().flatten().count();
    assert_eq!(journals, 0, "no journal is a file");
}

#[test]
fn a_process_that_is_killed_while_its_tool_runs_is_recovered_by_another() {
    let Some((home, postgres, address)) = databased("lease_seconds = 1") else { return };
    let odd = "it's \\ \"odd\" \u{2028} $1 %s 鹭";
    let server = Server::new([bash("echo $$ > leader; exec sleep 600")]);
    let started = home.run([odd]).model(&server).start();
    let leader = written(&home, "leader");
    // Another command sees whose turn it is.
    let listed = home.bub(["sessions", "--json"]).finish();
    assert_eq!(listed.code, Some(0), "{listed}");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert!(listed["sessions"].as_array().is_some_and(|all| all.iter().all(|one| one["held_on"] == Value::Null)));
    started.kill();
    let id = fs::read_to_string(leader).unwrap();
    std::process::Command::new("kill").args(["-9", id.trim()]).status().expect("kill runs");
    let server = Server::new([Answer::text("on")]);
    let next = elsewhere(&home, &["go on"]).model(&server).finish();
    next.says("[cli:local]\non\n");
    let said = conversation(postgres, &address);
    assert_eq!(kinds(&said), ["message", "tool_call", "tool_result", "error", "message", "message"], "{said:?}");
    assert!(said[0].1["content"].as_str().unwrap().ends_with(odd), "{said:?}");
    let unknown = json!({ "kind": "temporary", "message": "interrupted; it may or may not have run" });
    assert_eq!(said[2].1, json!({ "results": [unknown] }));
    let result = server.requests()[0].messages().into_iter().find(|message| message["role"] == "tool");
    assert!(result.is_some_and(|result| result.to_string().contains("may or may not have run")));
}

#[test]
fn a_process_that_is_stopped_for_longer_than_its_lease_writes_nothing_more_and_ends_its_programs() {
    let Some((home, postgres, address)) = databased("lease_seconds = 1") else { return };
    let server =
        Server::new([bash("echo $$ > leader; while [ ! -e go ]; do sleep 0.1; done; echo x > late; exec sleep 600")]);
    let stopped = home.run(["do it"]).model(&server).start();
    let leader = fs::read_to_string(written(&home, "leader")).unwrap();
    stopped.suspend();
    elsewhere(&home, &["ECHO:mine now"]).finish().says("[cli:local]\nmine now\n");
    let before = conversation(postgres, &address);
    assert_eq!(kinds(&before), ["message", "tool_call", "tool_result", "error", "message", "message"], "{before:?}");
    stopped.resume();
    let finished = stopped.finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let lost = "the turn lost its lease to another worker: the next turn of the session continues from its journal";
    assert!(finished.stderr.contains(lost) && finished.stdout.is_empty(), "{finished}");
    assert!(!is_alive(&leader), "its program outlived the turn\n{finished}");
    assert_eq!(conversation(postgres, &address), before);
    assert_eq!(server.requests().len(), 1, "no model was asked again");
    elsewhere(&home, &["ECHO:again"]).finish().says("[cli:local]\nagain\n");
}

#[test]
fn a_turn_that_has_to_wait_too_long_names_the_process_that_runs_the_other() {
    let Some((home, ..)) = databased("lock_wait = 0.5") else { return };
    let server = Server::new([bash("echo $$ > leader; exec sleep 600")]);
    let first = home.run(["do it"]).model(&server).start();
    written(&home, "leader");
    let refused = elsewhere(&home, &["hi"]).finish();
    refused.refuses(&["another turn of this session still runs in process", "after 0.5 seconds"]);
    first.terminate();
    assert_eq!(first.finish().code, Some(1));
}

#[test]
fn a_plain_turn_takes_at_most_four_round_trips_to_its_answer() {
    let Some(postgres) = Postgres::shared() else { return };
    let home = crate::home();
    let counted = RoundTrips::new(postgres);
    let address = postgres.database();
    home.configure(&format!("tape_store = {:?}", counted.address(address.split(['/', '?']).nth(3).unwrap())));
    home.configure("[plugins.memory.config]\nretention_days = 36500");
    // A process that ends after its turn, at first without a memory in the workspace, and then with several versions of it.
    for round in 0..3 {
        home.run(["hi"]).finish().answers();
        counted.take();
        home.run(["hi"]).finish().answers();
        check(&counted.take(), if round == 0 { "without" } else { "with" });
        let save = json!({ "content": format!("note {round}") }).to_string();
        let server = Server::new([Answer::tool_call("memory_save", &save), Answer::text("done")]);
        home.run(["remember"]).model(&server).finish().says("[cli:local]\ndone\n");
    }
    // One that serves.
    let model = crate::serve::echo();
    let served = crate::serve::serve(&home, &model);
    for content in ["one", "two", "three"] {
        // Tasks after a start are no part of the turn.
        while !counted.take().is_empty() {
            std::thread::sleep(Duration::from_millis(300));
        }
        let _answer: Value = served.post("/v1/turns", &json!({ "content": content, "session_id": "http:birds" }));
        let mut asked = counted.take();
        check(&asked, "in `serve`, with");
        // Nor is what follows an answer, which ends with a look at the tape's index.
        until("the index", || {
            asked.extend(counted.take());
            asked.iter().any(|statement| statement.contains("t.indexed"))
        });
    }
    assert_eq!(served.end().code, Some(0));
}

/// From the claim to the commit.
fn check(asked: &[String], memory: &str) {
    let begin = asked.iter().position(|statement| statement.contains("claim_turn_1")).expect("a claim");
    let end = asked.iter().position(|statement| statement.contains("append_1(")).expect("a commit");
    // The turn does not wait for its journal, and for what its model used, nor for what a worker looks at now and then.
    let behind = [
        "append_journal_1",
        "settle_1",
        "take_offers_1",
        "AND stops AND",
        "FROM follower",
        "log_events_1",
        "b.digest, b.hook, b.version",
        " FROM plugin",
        " INTO worker ",
    ];
    let is_behind = |statement: &&String| behind.iter().any(|part| statement.contains(part));
    let turn: Vec<_> = asked[begin..=end].iter().filter(|statement| !is_behind(statement)).collect();
    eprintln!("{} round trips {memory} a memory", turn.len());
    assert!(turn.len() <= 4, "{turn:#?}");
}
