//! Several workers on one database: the state that they share besides tapes.

mod plugins;
mod quarantine;
mod usage;

use bub_test_support::postgres::Postgres;
use bub_tests::{Home, Serve};
use serde_json::json;

use crate::home;
use crate::serve::echo;

/// Two homes on a database of their own, the server, and the database's address; `None`: PostgreSQL is not installed.
fn two(config: &str) -> Option<([Home; 2], &'static Postgres, String)> {
    let postgres = Postgres::shared()?;
    let address = postgres.database();
    let homes = [(); 2].map(|()| {
        let home = home();
        home.configure(&format!("tape_store = {address:?}\n{config}"));
        home
    });
    Some((homes, postgres, address))
}

#[test]
fn turns_end_with_the_reason_while_the_database_is_away_and_serve_goes_on() {
    let Some(postgres) = Postgres::start(&[]) else { return };
    let (home, model) = (home(), echo());
    home.configure(&format!("tape_store = {:?}\n[budget]\ntokens_per_day = 1_000_000", postgres.database()));
    let started = home.bub(["serve", "--listen", "127.0.0.1:0"]).watched().model(&model);
    let served = Serve::start(started, &home.bub_home());
    let said = served.post("/v1/turns", &json!({ "content": "hello" })).to_string();
    assert!(said.contains("you said: hello"), "{said}");
    let asked = model.requests().len();
    drop(postgres);
    let said = served.ask("POST", "/v1/turns").json(&json!({ "content": "again" })).send();
    said.refused(503, "the database does not answer; try again in a moment");
    assert_eq!(model.requests().len(), asked, "no model was asked");
    served.program().wait_for("plugins stay as they are until the database answers: ");
    assert_eq!(served.ask("GET", "/healthz").send().status, 200);
    served.end();
}
