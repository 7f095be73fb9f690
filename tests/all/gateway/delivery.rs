//! Answers on their way.

use super::{echo, posting, serving, start};
use bub_tests::{Home, Server};
use std::fs;

const HELLO: &str = "arrivals = [{ id = \"1\", chat = \"7\", content = \"hello\" }]\nwait = 60000\n";

/// The keys under which an answer was handed over, in order.
fn keys(log: &str) -> Vec<String> {
    let key = |line: &str| Some(line.split_once(r#""key":""#)?.1.split('"').next()?.to_owned());
    log.lines().filter_map(key).collect()
}

#[test]
fn an_answer_that_is_not_taken_now_is_delivered_later_under_the_same_key() {
    let home = posting(&format!(
        "{HELLO}flags = [\"polls\"]\nfails = {{ send = {{ kind = \"temporary\", message = \"busy\" }} }}"
    ));
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for("waits 2000 ms for channel `poster`");
    let first = serve.end();
    let file = home.bub_home().join("config.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("fails", "failed")).unwrap();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: hello""#);
    let second = serve.end();
    let (first, second) = (keys(&first.stderr), keys(&second.stderr));
    assert!(first.len() >= 2 && second.len() == 1, "{first:?} {second:?}");
    assert!(first.iter().all(|key| *key == second[0]), "{first:?} {second:?}");
    assert_eq!(model.requests().len(), 1, "the model is not asked again");
}

#[test]
fn an_answer_that_is_never_taken_is_put_aside() {
    let home = posting(&format!(
        "{HELLO}flags = [\"polls\"]\nfails = {{ send = {{ kind = \"not-found\", message = \"nobody\" }} }}"
    ));
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for("is not delivered to channel `poster`");
    serve.end();
    let serve = start(&home, serving(&home, &model));
    let said = serve.end();
    assert!(keys(&said.stderr).is_empty(), "{}", said.stderr);
}

/// A home whose answer a process could not deliver yet, with its inbox database changed by SQL.
fn undelivered(sql: &str) -> (Home, Server) {
    let home = posting(&format!(
        "{HELLO}flags = [\"polls\"]\nfails = {{ send = {{ kind = \"temporary\", message = \"busy\" }} }}"
    ));
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for("waits 2000 ms for channel `poster`");
    serve.end();
    let database = rusqlite::Connection::open(home.bub_home().join("serve.sqlite")).unwrap();
    database.execute_batch(sql).unwrap();
    (home, model)
}

#[test]
fn an_answer_is_dropped_after_a_day_and_counted_as_undeliverable() {
    let (home, model) = undelivered("UPDATE outbound SET queued = '2020-01-01T00:00:00Z'");
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for("given up after 24 hours");
    let page = serve.ask("GET", "/metrics").send().body;
    assert!(page.contains("bub_deliveries_total{outcome=\"undeliverable\"} 1\n"), "{page}");
    serve.end();
    let serve = start(&home, serving(&home, &model));
    let said = serve.end();
    assert!(keys(&said.stderr).is_empty(), "it is not tried again: {}", said.stderr);
}

#[test]
fn an_answer_in_an_inbox_database_of_version_2_is_delivered() {
    let (home, model) = undelivered("ALTER TABLE outbound DROP COLUMN queued; PRAGMA user_version = 2;");
    let file = home.bub_home().join("config.toml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("fails", "failed")).unwrap();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: hello""#);
    serve.end();
}

/// The process ends when the channel has taken an answer and before that is stored: the behavior of the next one.
fn doubtful(config: &str, channel: &str) -> Vec<String> {
    let home = posting(&format!("{HELLO}{config}"));
    home.configure(channel);
    let model = echo();
    // It may be gone before it says where it serves.
    let first = serving(&home, &model).env("BUB_FAILPOINT", "gateway.handed").finish();
    first.mentions(r#""send":"you said: hello""#);
    let serve = start(&home, serving(&home, &model));
    std::thread::sleep(std::time::Duration::from_millis(500));
    let log = serve.end().stderr;
    assert_eq!(model.requests().len(), 1, "the model is not asked again");
    let content = |line: &str| Some(line.split_once(r#""send":""#)?.1.split('"').next()?.to_owned());
    log.lines().filter_map(content).collect()
}

#[test]
fn an_answer_with_uncertain_delivery_is_marked_unless_the_channel_deduplicates() {
    assert_eq!(doubtful("flags = [\"polls\"]", ""), ["(repeated) you said: hello"]);
    assert_eq!(doubtful("flags = [\"polls\", \"dedupes\"]", ""), ["you said: hello"]);
    assert!(doubtful("flags = [\"polls\"]", "[channels.poster]\nresend = \"never\"").is_empty());
}

#[test]
fn an_answer_grows_where_the_channel_supports_edits() {
    let home = posting(&format!("{HELLO}flags = [\"polls\", \"edits\"]\nhandle = \"h1\""));
    let text = "a long answer of which the first part is shown while the rest is written";
    let model = bub_tests::Server::ruled(move |_| bub_tests::Answer::stalled(text));
    // The rest never comes: the error message replaces the shown text.
    let serve = start(&home, serving(&home, &model).env("BUB_MODEL_TIMEOUT_SECONDS", "4"));
    serve.program().wait_for(&format!(r#""send":"{text}""#));
    serve.program().wait_for(r#""handle":"h1""#);
    let said = serve.end();
    assert!(said.stderr.contains(r#""update":"#), "{}", said.stderr);
}

#[test]
fn bubs_variable_disables_streaming_of_answers() {
    let home = posting(&format!("{HELLO}flags = [\"polls\", \"edits\"]\nhandle = \"h1\""));
    let text = "a long answer of which the first part would be shown while the rest is written";
    let model = bub_tests::Server::ruled(move |_| bub_tests::Answer::stalled(text));
    let run = serving(&home, &model).env("BUB_MODEL_TIMEOUT_SECONDS", "4").env("BUB_STREAM_OUTPUT", "false");
    let serve = start(&home, run);
    serve.program().wait_for(r#""send":"#);
    let said = serve.end();
    assert!(!said.stderr.contains(&format!(r#""send":"{text}""#)), "{}", said.stderr);
    assert!(!said.stderr.contains(r#""update":"#), "{}", said.stderr);
}
