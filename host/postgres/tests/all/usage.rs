//! Budgets that several workers share: reserved, settled, released and expired.

use std::time::Duration;

use bub_postgres::{CallRow, Database, Scope, Settings, UsageTable};
use bub_test_support::postgres::Postgres;
use proptest::prelude::*;

async fn database(address: &str) -> Database {
    Database::connect(Settings::parse(address).unwrap()).await.unwrap()
}

fn call(plugin: &str, caller: &str, total: u64) -> CallRow {
    CallRow {
        model: "openai:gpt\0x".to_owned(),
        session: "s".to_owned(),
        workspace: "/w".to_owned(),
        plugin: plugin.to_owned(),
        purpose: "turn".to_owned(),
        caller: caller.to_owned(),
        prompt: total / 2,
        cached: 0,
        completion: total - total / 2,
        total,
        weighed: 0,
        estimated: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_reserve_at_the_same_time_never_exceed_the_cap_together() {
    let Some(postgres) = Postgres::shared() else { return };
    let address = postgres.database();
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let table = UsageTable::new(database(&address).await).unwrap();
        for _ in 0..10 {
            let table = table.clone();
            tasks.push(tokio::spawn(async move {
                let id = table.call_id().unwrap();
                table.reserve(id, 0, 100, &[(Scope::All, 1_050)]).await.unwrap().is_ok()
            }));
        }
    }
    let mut admitted = 0;
    for task in tasks {
        admitted += usize::from(task.await.unwrap());
    }
    assert_eq!(admitted, 10);
    assert_eq!(postgres.sql(&address, "SELECT sum(tokens) FROM reservation"), "1000");
}

#[tokio::test]
async fn a_call_is_reserved_in_all_scopes_or_in_none_and_settled_once() {
    let Some(postgres) = Postgres::shared() else { return };
    let address = postgres.database();
    let table = UsageTable::new(database(&address).await).unwrap();
    let scopes = [(Scope::All, 1_000), (Scope::Plugin("p"), 1_000), (Scope::Caller("c"), 50)];
    let id = table.call_id().unwrap();
    let refusal = table.reserve(id, 0, 60, &scopes).await.unwrap().unwrap_err();
    assert_eq!((refusal.place, refusal.used, refusal.reserved), (2, 0, 0));
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM reservation"), "0");
    assert!(table.reserve(id, 0, 50, &scopes).await.unwrap().is_ok());
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM reservation"), "3");
    // Repeated, as after a connection that ended before the answer.
    assert!(table.reserve(id, 0, 50, &scopes).await.unwrap().is_ok());
    for _ in 0..2 {
        table.settle(id, 0, Duration::ZERO, &call("p", "c", 40)).await.unwrap();
    }
    assert_eq!(postgres.sql(&address, "SELECT count(*) FROM reservation"), "0");
    for scope in [Scope::All, Scope::Plugin("p"), Scope::Caller("c")] {
        assert_eq!(table.used(0, scope).await.unwrap(), 40);
    }
    assert_eq!(table.used(0, Scope::Plugin("other")).await.unwrap(), 0);
    let (_, rows) = table.report(0, 1, None, true).await.unwrap();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.days_ago, row.calls, row.total, row.model.as_str()), (0, 1, 40, "openai:gpt\0x"));
    assert_eq!((row.session.as_str(), row.workspace.as_str()), ("s", "/w"));
    assert!(table.report(0, 1, Some(("s", "/elsewhere")), true).await.unwrap().1.is_empty());
}

#[tokio::test]
async fn a_call_that_is_settled_late_counts_on_its_own_day() {
    let Some(postgres) = Postgres::shared() else { return };
    let table = UsageTable::new(database(&postgres.database()).await).unwrap();
    let day = Duration::from_secs(86_400);
    table.settle(table.call_id().unwrap(), 0, day, &call("p", "", 40)).await.unwrap();
    assert_eq!(table.used(0, Scope::All).await.unwrap(), 0);
    let (_, rows) = table.report(0, 2, None, false).await.unwrap();
    assert_eq!(rows.iter().map(|row| (row.days_ago, row.total)).collect::<Vec<_>>(), [(1, 40)]);
    assert!(table.report(0, 1, None, false).await.unwrap().1.is_empty());
}

#[tokio::test]
async fn a_reservation_expires_by_the_clock_of_the_database_unless_its_worker_renews_it() {
    let Some(postgres) = Postgres::shared() else { return };
    let address = postgres.database();
    let database = database(&address).await;
    let (dead, alive) = (UsageTable::new(database.clone()).unwrap(), UsageTable::new(database).unwrap());
    let scopes = [(Scope::All, 100)];
    for table in [&dead, &alive] {
        assert!(table.reserve(table.call_id().unwrap(), 0, 50, &scopes).await.unwrap().is_ok());
    }
    assert!(alive.reserve(alive.call_id().unwrap(), 0, 50, &scopes).await.unwrap().is_err());
    // Both have nearly passed; one is renewed.
    postgres.sql(&address, "UPDATE reservation SET until = clock_timestamp() + interval '200 milliseconds'");
    assert!(alive.renew().await.unwrap());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(alive.reserve(alive.call_id().unwrap(), 0, 50, &scopes).await.unwrap().is_ok());
    let refusal = alive.reserve(alive.call_id().unwrap(), 0, 50, &scopes).await.unwrap().unwrap_err();
    assert_eq!((refusal.used, refusal.reserved), (0, 100));
    assert!(!dead.renew().await.unwrap());
}

/// A step of a worker's, with a number of tokens.
#[derive(Debug, Clone)]
enum Step {
    Reserve(u64),
    Settle(usize, u64),
    Release(usize),
    Die,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u64..60).prop_map(Step::Reserve),
        3 => (0_usize..4, 0_u64..60).prop_map(|(nth, tokens)| Step::Settle(nth, tokens)),
        1 => (0_usize..4).prop_map(Step::Release),
        1 => Just(Step::Die),
    ]
}

#[test]
fn random_histories_admit_exactly_the_calls_that_fit() {
    let Some(postgres) = Postgres::shared() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(24));
    let history = proptest::collection::vec(step(), 1..40);
    let address = postgres.database();
    runner
        .run(&history, |history| {
            runtime.block_on(async {
                let table = UsageTable::new(database(&address).await).unwrap();
                postgres.sql(&address, "TRUNCATE budget, reservation, usage_call");
                let (mut used, mut open): (u64, Vec<([u8; 16], u64)>) = (0, Vec::new());
                for step in history {
                    match step {
                        Step::Reserve(tokens) => {
                            let id = table.call_id().unwrap();
                            let reserved: u64 = open.iter().map(|(_, tokens)| tokens).sum();
                            let done = table.reserve(id, 0, tokens, &[(Scope::All, 200)]).await.unwrap();
                            prop_assert_eq!(done.is_ok(), used + reserved + tokens <= 200);
                            if done.is_ok() {
                                open.push((id, tokens));
                            }
                        }
                        Step::Settle(nth, tokens) if nth < open.len() => {
                            let (id, _) = open.remove(nth);
                            table.settle(id, 0, Duration::ZERO, &call("p", "", tokens)).await.unwrap();
                            used += tokens;
                        }
                        Step::Release(nth) if nth < open.len() => table.release(open.remove(nth).0).await.unwrap(),
                        Step::Die => {
                            postgres.sql(&address, "UPDATE reservation SET until = clock_timestamp()");
                            open.clear();
                        }
                        Step::Settle(..) | Step::Release(_) => {}
                    }
                }
                prop_assert_eq!(table.used(0, Scope::All).await.unwrap(), used);
                Ok(())
            })
        })
        .unwrap();
}
