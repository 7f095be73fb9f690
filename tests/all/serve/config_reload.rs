//! The configuration, read again while the program serves.

mod files;
mod held;
mod settings;

use super::{echo, say, token};
use crate::home;
use bub_tests::{Answer, Home, Serve, Server};
use std::time::{Duration, Instant};

/// The log line once a changed configuration is in effect.
const IN_EFFECT: &str = "the changed configuration is in effect";

/// The log line for an invalid one.
const STAYS: &str = "the previous configuration stays active: ";

/// Serves that home with the model that its configuration names, and says what happens.
fn serving<'home>(home: &'home Home, arguments: &[&'static str]) -> Serve<'home> {
    let run = home.bub(std::iter::once("serve").chain(arguments.iter().copied())).watched();
    Serve::start(run.env("BUB_API_KEY", "sk-fake"), &home.bub_home())
}

fn start(home: &Home) -> Serve<'_> {
    serving(home, &["--listen", "127.0.0.1:0"])
}

/// A home whose model is that server.
fn home_with(model: &Server) -> Home {
    let home = home();
    home.configure(&format!("model = \"openai:old\"\napi_base = \"{}\"", model.base()));
    home
}

/// How often the program has said that so far.
fn count(serve: &Serve<'_>, text: &str) -> usize {
    serve.program().told().matches(text).count()
}

/// Waits until that is so.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "this is not so within a minute: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the configuration has been replaced so often.
#[track_caller]
fn in_effect(serve: &Serve<'_>, times: usize) {
    until("a changed configuration is in effect", || count(serve, IN_EFFECT) >= times);
    assert_eq!(count(serve, IN_EFFECT), times, "{}", serve.program().told());
}

/// Waits for so long that a change which is taken would have been.
fn a_while() {
    std::thread::sleep(Duration::from_millis(1500));
}

/// A model that says which model it was asked for.
fn named() -> Server {
    Server::ruled(|request| Answer::text(&format!("{} answers", request.json()["model"].as_str().unwrap_or_default())))
}

#[test]
fn the_next_turn_has_the_model_that_is_configured_by_then() {
    let model = named();
    let home = home_with(&model);
    let serve = start(&home);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "old answers");
    home.configure("model = \"openai:new\"");
    in_effect(&serve, 1);
    assert_eq!(say(&serve, "a", "hi")["model_output"], "new answers");
}

#[test]
fn an_added_token_is_accepted_and_a_removed_one_is_rejected() {
    let model = echo();
    let home = home_with(&model);
    let file = home.bub_home().join("config.toml");
    let serve = start(&home);
    let without = std::fs::read_to_string(&file).unwrap();
    let reader = token(&home, "reader", "\"read\"", "");
    in_effect(&serve, 1);
    assert_eq!(serve.ask("GET", "/v1/sessions").token(&reader).send().status, 200);
    let mut events = serve.ask("GET", "/v1/events").token(&reader).open();
    let mut owners = serve.ask("GET", "/v1/events").open();
    let mut begun = [0; 1];
    std::io::Read::read_exact(&mut events, &mut begun).expect("it is answered");
    std::io::Read::read_exact(&mut owners, &mut begun).expect("it is answered");
    std::fs::write(&file, without).unwrap();
    in_effect(&serve, 2);
    serve.ask("GET", "/v1/sessions").token(&reader).send().refused(401, "a token is needed");
    // The stream of the removed token ends, and the owner's continues.
    std::io::Read::read_to_end(&mut events, &mut Vec::new()).expect("the stream ends by itself");
    say(&serve, "a", "hi");
    let mut line = String::new();
    let mut lines = std::io::BufReader::new(owners);
    until("the owner's stream tells of the turn", || {
        line.clear();
        std::io::BufRead::read_line(&mut lines, &mut line).expect("it goes on");
        line.contains("turn-ends")
    });
}

#[test]
fn the_owners_token_can_be_replaced() {
    let model = echo();
    let home = home_with(&model);
    let serve = start(&home);
    let own = "a-token-of-the-owners-own-choice-which-is-long";
    std::fs::write(home.bub_home().join("serve.token"), own).unwrap();
    in_effect(&serve, 1);
    assert_eq!(serve.ask("GET", "/v1/sessions").token(own).send().status, 200);
    serve.ask("GET", "/v1/sessions").send().refused(401, "a token is needed");
}

#[test]
fn a_replaced_key_is_used_by_the_next_turn_and_is_not_logged() {
    let model = echo();
    let home = home_with(&model);
    let env = home.bub_home().join(".env");
    std::fs::write(&env, "BUB_API_KEY=sk-the-first-key\n").unwrap();
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).watched();
    let serve = Serve::start(run, &home.bub_home());
    say(&serve, "a", "one");
    std::fs::write(&env, "BUB_API_KEY=sk-the-second-key\n").unwrap();
    in_effect(&serve, 1);
    say(&serve, "a", "two");
    let keys: Vec<_> = model.requests().iter().map(|asked| asked.header("authorization").map(str::to_owned)).collect();
    assert_eq!(keys, [Some("Bearer sk-the-first-key".to_owned()), Some("Bearer sk-the-second-key".to_owned())]);
    let log = serve.end().stderr;
    assert!(!log.contains("sk-the"), "{log}");
}

/// Earlier use counts for a budget that is set later.
#[test]
fn a_budget_that_is_set_counts_the_tokens_spent_today() {
    let model = Server::ruled(|_| Answer::counted("done", 7));
    let home = home_with(&model);
    let serve = start(&home);
    assert_eq!(say(&serve, "a", "one")["model_output"], "done");
    home.configure("[budget]\ntokens_per_day = 5");
    in_effect(&serve, 1);
    let said = say(&serve, "a", "two");
    let error = said["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("today's budget is spent: 8 tokens of 5"), "{said}");
    assert_eq!(model.requests().len(), 1);
}

/// SIGHUP of a terminal that closes.
#[test]
fn a_terminal_that_is_closed_ends_the_program() {
    let model = echo();
    let home = home_with(&model);
    let terminal = home.bub(["serve", "--listen", "127.0.0.1:0"]).terminal(120, 20);
    terminal.sees("the owner's token is in");
    let process = std::path::Path::new("/proc").join(terminal.process().to_string());
    assert!(process.exists());
    drop(terminal);
    until("the program is gone", || !process.exists());
}
