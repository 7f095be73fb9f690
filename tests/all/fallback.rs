//! `BUB_FALLBACK_MODELS`: the models that are asked when the configured one fails.

use crate::home;
use bub_tests::{Answer, Home, Server, programs};

/// The models that were asked, in order.
fn asked(server: &Server) -> Vec<String> {
    let model = |request: &bub_tests::Request| request.json()["model"].as_str().unwrap_or_default().to_owned();
    server.requests().iter().map(model).collect()
}

fn falls_back(home: &Home, server: &Server, models: &str) -> bub_tests::Finished {
    home.run(["ECHO:hi"]).model(server).env("BUB_FALLBACK_MODELS", models).finish()
}

#[test]
fn fallbacks_are_called_in_order_until_one_answers() {
    let server = Server::new([Answer::refusal("one"), Answer::refusal("two"), Answer::text("three")]);
    let models = r#"["openai:second", "openai:third", "openai:fourth"]"#;
    falls_back(&home(), &server, models).says("[cli:local]\nthree\n");
    assert_eq!(asked(&server), ["fake-model", "second", "third"]);
}

#[test]
fn when_all_fail_the_first_error_is_reported() {
    let server = Server::new([Answer::refusal("first reason"), Answer::refusal("second reason")]);
    let finished = falls_back(&home(), &server, r#"["openai:second"]"#).fails("first reason");
    assert_eq!(asked(&server), ["fake-model", "second"]);
    let error = finished.stderr.lines().last().unwrap_or_default();
    assert!(error.contains("first reason") && !error.contains("second reason"), "{finished}");
}

#[test]
fn a_fallback_may_be_another_provider_at_another_address() {
    let (first, second) = (Server::new([Answer::refusal("no")]), Server::new([Answer::text("from there")]));
    let home = home();
    let run = home.run(["hi"]).env("BUB_MODEL", "openai:here").env("BUB_API_KEY", "sk-fake");
    let run = run.env("BUB_OPENAI_API_BASE", first.base()).env("BUB_OPENROUTER_API_BASE", second.base());
    run.env("BUB_FALLBACK_MODELS", r#"["openrouter:there"]"#).finish().says("[cli:local]\nfrom there\n");
    assert_eq!((asked(&first), asked(&second)), (vec!["here".to_owned()], vec!["there".to_owned()]));
}

#[test]
fn the_offline_guest_may_be_a_fallback() {
    let server = Server::new([Answer::refusal("no")]);
    falls_back(&home(), &server, r#"["offline:demo"]"#).says("[cli:local]\nhi\n");
    assert_eq!(asked(&server), ["fake-model"]);
}

#[test]
fn after_the_first_output_no_fallback_is_called() {
    let half = "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"Hel\"}}]}\n\ndata: {\"choi";
    let server = Server::new([Answer::CutOff(half.to_owned()), Answer::text("again")]);
    falls_back(&home(), &server, r#"["openai:second"]"#).fails("openai:fake-model");
    assert_eq!(asked(&server), ["fake-model"]);
}

#[test]
fn a_model_requested_by_name_has_no_fallback() {
    let home = home();
    home.configure("[plugins.caller]\ngrants = [\"model:*\"]\nconfig = { call = { model = \"openai:special\" } }");
    home.plugin("caller", programs::CALLER);
    let server = Server::new([Answer::refusal("not that one"), Answer::text("another")]);
    let finished = falls_back(&home, &server, r#"["openai:second"]"#);
    assert!(finished.stdout.contains("not that one"), "{finished}");
    assert_eq!(asked(&server), ["special"]);
}

#[test]
fn fallbacks_can_be_configured_in_the_file() {
    let home = home();
    home.configure("fallback_models = [\"openai:second\"]");
    let server = Server::new([Answer::refusal("no"), Answer::text("yes")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nyes\n");
    assert_eq!(asked(&server), ["fake-model", "second"]);
}

#[test]
fn fallbacks_that_are_no_list_are_refused() {
    let home = home();
    let run = home.run(["hi"]).env("BUB_FALLBACK_MODELS", "openai:second");
    run.finish().refuses(&["BUB_FALLBACK_MODELS"]);
}
