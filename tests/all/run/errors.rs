//! The message of a failed turn names the cause and the remedy.

use super::{home, plain, speaks_plainly};
use bub_tests::{Answer, Home, Server, programs};
use std::net::TcpListener;

/// It failed with one line that begins and ends so.
#[track_caller]
fn fails(finished: bub_tests::Finished, begins: &str, ends: &str) {
    speaks_plainly(&finished);
    let line = finished.stderr.trim_end();
    assert!(finished.code == Some(1) && finished.stdout.is_empty() && line.lines().count() == 1, "{finished}");
    assert!(line.starts_with(&format!("error: {begins}")), "begins with `{begins}`: {finished}");
    assert!(line.ends_with(ends), "ends with `{ends}`: {finished}");
}

fn refused(status: u16) -> bub_tests::Finished {
    let answer = || Answer::Whole(status, "application/json", "{\"error\": {\"message\": \"no\"}}".to_owned());
    let server = Server::new((0..3).map(|_| answer()));
    plain(&home(), &["hi"]).model(&server).finish()
}

#[test]
fn a_model_without_a_key() {
    let run = home();
    let finished = plain(&run, &["hi"]).env("BUB_MODEL", "openai:gpt").finish();
    fails(finished, "model `openai:gpt`: ", "set `OPENAI_API_KEY`, `BUB_OPENAI_API_KEY` or `BUB_API_KEY`");
}

#[test]
fn a_key_that_is_refused() {
    let begins = "model `openai:fake-model`: the server answered 401: no; the key is refused: set one by \
        `bub-wasm secret set openai --host 127.0.0.1`";
    fails(refused(401), begins, "and try it by `bub-wasm doctor`");
}

#[test]
fn a_model_that_is_not_there() {
    let begins =
        "model `openai:fake-model`: the server answered 404: no; the model's name or the server's address is wrong";
    fails(refused(404), begins, "another address by `BUB_OPENAI_API_BASE`");
}

#[test]
fn a_server_that_limits_requests() {
    let begins = "model `openai:fake-model`: the server answered 429: no; it limits how much may be asked of it";
    fails(refused(429), begins, "name others in `fallback_models` of config.toml");
}

#[test]
fn a_server_that_is_not_reached() {
    let free = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = free.local_addr().expect("it is bound");
    drop(free);
    let home = home();
    let run = plain(&home, &["hi"]).env("BUB_MODEL", "openai:gpt").env("BUB_API_KEY", "sk-fake");
    let finished = run.env("BUB_API_BASE", format!("http://{address}/v1")).finish();
    fails(finished, "model `openai:gpt`: could not connect to `127.0.0.1", "`bub-wasm doctor` tries it");
}

#[test]
fn a_budget_that_is_spent() {
    let home = home();
    home.configure("[budget]\ntokens_per_day = 5");
    let server = Server::new([Answer::counted("one", 10)]);
    plain(&home, &["go"]).model(&server).finish().says("one\n");
    let finished = plain(&home, &["go"]).model(&server).finish();
    fails(finished, "today's budget is spent: ", "raise `tokens_per_day` in `[budget]` of config.toml");
}

#[test]
fn a_turn_that_takes_too_long() {
    let home = home();
    home.configure("[limits]\nturn_deadline_ms = 1500");
    let server = Server::new([Answer::Silence]);
    let finished = plain(&home, &["hi"]).model(&server).finish();
    fails(finished, "the turn ran longer than 1500 ms", "raise `turn_deadline_ms` of `[limits]` in config.toml");
}

fn with_plugin(answers: &str) -> Home {
    let home = home();
    home.scripted("a", programs::SCRIPTED, answers);
    home
}

#[test]
fn a_plugin_that_breaks() {
    let finished = plain(&with_plugin("run-model = { trap = true }"), &["hi"]).finish();
    let ends = "to look closer: `bub-wasm plugin check a`; to go on without it: `bub-wasm plugin remove a`";
    fails(finished, "hook `run-model` of plugin `a`: trapped", ends);
}

#[test]
fn a_plugin_that_denies() {
    let finished = plain(&with_plugin("build-prompt = { error = \"no prompt today\" }"), &["hi"]).finish();
    let ends = "(said by plugin `a`, hook `build-prompt`); to go on without it: `bub-wasm plugin remove a`";
    fails(finished, "no prompt today ", ends);
}

#[test]
fn a_session_that_is_locked_by_another_process() {
    let home = home();
    home.configure("lock_wait = 0.2");
    let server = Server::new([Answer::Silence]);
    let first = plain(&home, &["hi"]).model(&server).start();
    server.wait_for(1);
    let finished = plain(&home, &["ECHO:hi"]).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    let error = finished.stderr.lines().last().unwrap_or_default();
    assert!(error.starts_with("error: another turn of this session still runs in process "), "{finished}");
    assert!(error.ends_with("or raise `lock_wait` of config.toml"), "{finished}");
    first.kill();
}

#[test]
fn through_which_hooks_it_came_is_in_the_log() {
    let finished = plain(&home(), &["hi"]).env("BUB_MODEL", "openai:gpt").env("BUB_VERBOSE", "1").finish();
    let line = "turn failed: hook `run-model-stream` of plugin `builtin`: model `openai:gpt`: ";
    assert!(finished.stderr.contains(line), "{finished}");
}
