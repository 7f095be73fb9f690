//! The example selectors, `window` and `compact`.

use super::{events, has, said};
use crate::home;
use bub_tests::{Answer, Home, Server, programs};

fn talk(name: &str, wasm: &str, config: &str) -> (Home, Server) {
    let home = home();
    home.configure(&format!("[plugins.{name}.config]\n{config}"));
    home.plugin(name, wasm);
    let server = Server::new((1..=4).map(|at| Answer::text(&format!("answer {at}"))));
    for message in ["question one", "question two", "question three", "question four"] {
        home.run([message]).model(&server).finish();
    }
    (home, server)
}

#[test]
fn window_selects_the_last_exchanges_only() {
    let (home, server) = talk("window", programs::WINDOW, "exchanges = 2");
    let last = &server.requests()[3];
    // The running turn is the last exchange.
    assert!(has(last, "question three") && has(last, "answer 3") && has(last, "question four"), "{:?}", said(last));
    assert!(!has(last, "question two") && !has(last, "answer 2"));
    assert_eq!(events(&home, "context.selected").last().map(|data| data["exchanges"].clone()), Some(2.into()));
}

#[test]
fn compact_folds_older_exchanges_into_a_line_each() {
    let (_, server) = talk("compact", programs::COMPACT, "whole = 2");
    let told = said(&server.requests()[3]);
    let folded = "[Earlier in this conversation]\n- question one -> answer 1\n- question two -> answer 2";
    assert_eq!(told[1], ("system".to_owned(), folded.to_owned()), "{told:?}");
    assert_eq!(told.len(), 5, "and then the third exchange and the prompt: {told:?}");
}

#[test]
fn a_configuration_that_its_schema_does_not_know_leaves_a_plugin_out() {
    let home = home();
    home.configure("[plugins.window.config]\nexchange = 2");
    home.plugin("window", programs::WINDOW);
    home.run(["ECHO:alive"]).finish().says("[cli:local]\nalive\n").mentions("`[plugins.window.config]` of config.toml");
}
