//! `config.toml` beside the environment, and output that nobody reads to its end.

use crate::home;
use bub_tests::{Answer, Server};

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9/v1";

#[test]
fn an_address_in_the_configuration_is_used() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("api_base = \"{}\"", server.base()));
    let run = home.run(["hi"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_KEY", "sk-fake");
    run.finish().says("[cli:local]\nhello\n");
}

#[test]
fn an_address_for_one_provider_stands_before_the_configuration() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("api_base = \"{NOWHERE}\""));
    let run = home.run(["hi"]).env("BUB_MODEL", "openai:fake-model").env("BUB_API_KEY", "sk-fake");
    run.env("BUB_OPENAI_API_BASE", server.base()).finish().says("[cli:local]\nhello\n");
}

#[test]
fn an_address_for_all_stands_before_the_configuration() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("api_base = \"{NOWHERE}\""));
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
}

#[test]
fn the_model_may_stand_in_the_configuration() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    home.configure(&format!("model = \"openai:mine\"\napi_base = \"{}\"", server.base()));
    home.run(["hi"]).env("BUB_API_KEY", "sk-fake").finish().says("[cli:local]\nhello\n");
    assert_eq!(server.requests()[0].json()["model"], "mine");
}

#[test]
fn no_tokens_are_no_answer() {
    let home = home();
    home.configure("max_tokens = 0");
    home.run(["ECHO:hi"]).finish().refuses(&["max_tokens", "0"]);
}

#[test]
fn no_steps_are_no_answer() {
    let home = home();
    home.configure("max_steps = 0");
    home.run(["ECHO:hi"]).finish().refuses(&["max_steps", "0"]);
}

#[test]
fn no_time_is_no_time_for_an_answer() {
    for seconds in ["0", "0.0", "-1", "nan", "1e300"] {
        let home = home();
        home.configure(&format!("model_timeout_seconds = {seconds}"));
        home.run(["ECHO:hi"]).finish().refuses(&["model_timeout_seconds"]);
    }
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let home = home();
    for reader in ["head -n 1", "true"] {
        // The pipe line runs in place of the program alone, and tells how the program ended.
        let before = format!("{{ \"$0\" \"$@\"; echo \"ended with $?\" >&2; }} | {reader}; exit 0");
        let finished = home.bub(["hooks"]).under(&before).finish();
        assert_eq!(finished.stderr, "ended with 0\n", "{reader}\n{finished}");
    }
}
