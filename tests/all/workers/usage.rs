//! One budget for all workers.

use super::two;
use crate::usage::{shown, used};
use bub_test_support::postgres::Postgres;
use bub_tests::{Answer, Server};

#[test]
fn a_budget_holds_for_the_calls_of_all_workers() {
    let Some(([a, b], ..)) = two("max_tokens = 100\n[budget]\ntokens_per_day = 100_000") else { return };
    let server = Server::new([used(90_000, 100), used(20_000, 100)]);
    a.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(shown(&b, &[])["budget"]["used_today"], 90_100);
    b.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let refused = a.run(["again"]).model(&server).finish();
    refused.fails("today's budget is spent: 110200 tokens of 100000; to go on before midnight, raise `tokens_per_day`");
    for home in [&a, &b] {
        let all = shown(home, &[]);
        assert_eq!((all["total"]["calls"].as_u64(), all["total"]["total_tokens"].as_u64()), (Some(2), Some(110_200)));
        assert_eq!(all["sessions"].as_array().map(Vec::len), Some(2), "one in each workspace: {all}");
        assert!(!home.bub_home().join("usage").exists(), "no file is written");
    }
}

#[test]
fn a_call_that_may_exceed_the_remaining_budget_is_refused_before_it_is_made() {
    let Some(([a, b], ..)) = two("[budget]\ntokens_per_day = 100_000") else { return };
    a.configure("max_tokens = 100");
    b.configure("max_tokens = 60_000");
    let server = Server::new([used(50_000, 100)]);
    a.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let refused = b.run(["hi"]).model(&server).finish();
    let refused = refused.fails("the budget has 49900 tokens of 100000 left today, and this call may use 6");
    refused.fails("to go on, lower `max_tokens`, or raise `tokens_per_day` in `[budget]` of config.toml");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn reservations_of_a_killed_worker_are_held_until_they_expire() {
    let Some(([a, b], postgres, address)) = two("[budget]\ntokens_per_day = 100_000") else { return };
    a.configure("max_tokens = 80_000");
    b.configure("max_tokens = 15_000");
    let stalled = Server::new([Answer::stalled("half an ans")]);
    let killed = a.run(["hi"]).model(&stalled).start();
    stalled.wait_for(1);
    let reserved = postgres.sql(&address, "SELECT sum(tokens) > 80000 FROM reservation WHERE until > now()");
    assert_eq!(reserved, "t");
    killed.kill();
    let server = Server::new([used(1_000, 100)]);
    let refused = b.run(["hi"]).model(&server).finish();
    refused.fails("of which calls under way have reserved 8");
    assert_eq!(server.requests().len(), 0);
    postgres.sql(&address, "UPDATE reservation SET until = clock_timestamp()");
    b.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(shown(&a, &[])["budget"]["used_today"], 1_100);
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM reservation"), "0");
}

#[test]
fn a_call_without_a_budget_reserves_nothing() {
    let Some(([a, _], postgres, address)) = two("") else { return };
    let stalled = Server::new([Answer::stalled("half an ans")]);
    let killed = a.run(["hi"]).model(&stalled).start();
    stalled.wait_for(1);
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM reservation"), "0");
    killed.kill();
}

#[test]
fn usage_that_the_database_does_not_take_is_kept_and_sent_once_it_does() {
    let Some(([a, b], postgres, address)) = two("") else { return };
    let server = Server::new([used(1_000, 100), used(2_000, 200)]);
    assert_eq!(shown(&a, &[])["total"]["calls"], 0, "the schema is made");
    postgres.sql(&address, "ALTER TABLE usage_call RENAME TO usage_call_away");
    // Read at the start, and those values hold until the first settlement.
    postgres.sql(&address, "CREATE VIEW usage_call AS SELECT * FROM usage_call_away WHERE false");
    postgres
        .sql(&address, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no room''; END'");
    postgres
        .sql(&address, "CREATE TRIGGER refuse INSTEAD OF INSERT ON usage_call FOR EACH ROW EXECUTE FUNCTION refuse()");
    let finished = a.run(["hi"]).model(&server).finish();
    let finished = finished.says("[cli:local]\nhello\n");
    assert!(finished.stderr.contains("what models used is kept in"), "{finished}");
    let dir = a.bub_home().join("usage/unsettled");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    postgres.sql(&address, "DROP VIEW usage_call; ALTER TABLE usage_call_away RENAME TO usage_call");
    a.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    assert_eq!(shown(&b, &[])["total"]["total_tokens"], 3_300);
}

#[test]
fn a_call_with_a_budget_costs_one_statement_before_it_and_one_behind_it() {
    let Some(postgres) = Postgres::start(&["log_statement=all"]) else { return };
    let home = crate::home();
    home.configure(&format!("tape_store = {:?}", postgres.database()));
    let server = Server::new([used(1_000, 100), used(1_000, 100)]);
    let executed = |function: &str| {
        let log = postgres.log();
        log.lines().filter(|line| line.contains("execute ") && line.contains(function)).count()
    };
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!((executed("FROM reserve_1("), executed("SELECT settle_1(")), (0, 1));
    home.configure("[budget]\ntokens_per_day = 1_000_000");
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!((executed("FROM reserve_1("), executed("SELECT settle_1(")), (1, 2));
    assert_eq!(executed("DELETE FROM reservation WHERE id"), 0, "the settlement ends the reservation");
}
