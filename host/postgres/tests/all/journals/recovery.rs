//! Recovery of an interrupted turn by the next worker.

use std::time::Duration;

use bub_store_tests::{NAME, SIDE, contents, message};
use bub_tape::{Draft, Entry, Recovered, event};
use bub_test_support::postgres::Postgres;

use super::{PATIENT, call, crash, first, say, worker};

/// Parts of journals that earlier turns left.
const LEFT: &str =
    "SELECT count(*) FROM journal j WHERE j.epoch < (SELECT l.epoch FROM lease l WHERE l.name = j.lease)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_worker_recovers_a_turn_once_and_its_tool_may_or_may_not_have_run() {
    let Some((tapes, address)) = first().await else { return };
    say(&tapes, "earlier").await;
    crash(&address, |_, turn| async move {
        turn.keep_prompt("go on").unwrap();
        turn.append(vec![message("user", "go on")]).await.unwrap();
        turn.sidecar("notes").unwrap().append(vec![message("user", "beside")]).await.unwrap();
        turn.keep_tool(&call("one")).await.unwrap();
    })
    .await;
    let next = worker(&address, PATIENT).await;
    let interrupted = next.interrupted(NAME).await.unwrap();
    let expected = Recovered { entries: 2, tools: vec!["bash".to_owned()], taken: Vec::new() };
    assert_eq!(interrupted.left(), Some(&expected));
    interrupted.release().await;
    let (turn, recovered) = next.begin(NAME).await.unwrap();
    assert_eq!(recovered, Some(expected));
    let all = turn.read(0, 99).await.unwrap();
    let texts: Vec<&str> = all.iter().map(|entry| &*entry.payload).collect();
    assert!(texts[1].contains("go on") && texts[2].contains("\"id\": \"one\""), "{texts:?}");
    assert!(texts[3].contains("may or may not have run"), "{texts:?}");
    assert!(all.last().unwrap().is("event"));
    assert_eq!(contents(&next.store().read(SIDE, 0, 9).await.unwrap()), ["beside"]);
    assert_eq!(Postgres::shared().unwrap().sql(&address, LEFT), "0");
    turn.append(vec![message("user", "next")]).await.unwrap();
    turn.merge().await.unwrap();
    turn.close();
    let before = next.open(NAME).unwrap().last_id().await.unwrap();
    say(&tapes, "last").await;
    assert_eq!(tapes.open(NAME).unwrap().last_id().await.unwrap(), before + 1, "it is recovered once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_was_committed_before_its_process_ended_is_not_repeated() {
    let Some((tapes, address)) = first().await else { return };
    crash(&address, |_, turn| async move {
        turn.append(vec![message("user", "once")]).await.unwrap();
        turn.keep_tool(&call("one")).await.unwrap();
        turn.merge().await.unwrap();
    })
    .await;
    assert_ne!(Postgres::shared().unwrap().sql(&address, "SELECT count(*) FROM journal"), "0");
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(contents(&turn.read(0, 99).await.unwrap()), ["once"]);
    assert_eq!(Postgres::shared().unwrap().sql(&address, LEFT), "0");
    turn.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_recovery_is_repeated_and_done_once() {
    let Some((_, address)) = first().await else { return };
    crash(&address, |_, turn| async move {
        turn.append(vec![message("user", "once")]).await.unwrap();
        turn.keep_tool(&call("one")).await.unwrap();
    })
    .await;
    let server = Postgres::shared().unwrap();
    // The entries get there, and the journal stays.
    server.sql(
        &address,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$; \
         CREATE TRIGGER refuse BEFORE DELETE ON journal FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let next = worker(&address, PATIENT).await;
    let refused = next.begin(NAME).await.map(drop).unwrap_err().to_string();
    assert!(refused.contains("recover the interrupted turn") && refused.contains("not now"), "{refused}");
    let entries = next.open(NAME).unwrap().last_id().await.unwrap();
    assert!(entries > 1);
    server.sql(&address, "DROP TRIGGER refuse ON journal");
    let (turn, _) = next.begin(NAME).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), entries);
    turn.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_text_is_recovered_byte_for_byte() {
    let Some((tapes, address)) = first().await else { return };
    let odd = "'; DROP TABLE entry; -- \\ \\\\ \" \u{1} \u{2028} \r\n \u{7f} 鹭 🐦 $$ $1 %s \\u0000 {\"a\": [1]}";
    let drafts = move || {
        let text = bub_tape::json::quote(odd);
        let payload = format!(r#"{{"role": "user", "content": {text}, "zero": "\u0000"}}"#);
        vec![
            Draft::new("message", &payload, &format!(r#"{{"k{}": {text}}}"#, 1)).unwrap(),
            Draft::new("it's \u{b7} odd", "{}", "{}").unwrap(),
            event(odd, &text).unwrap(),
        ]
    };
    crash(&address, move |_, turn| async move {
        turn.append(drafts()).await.unwrap();
        turn.keep_prompt(odd).unwrap();
        turn.keep_tool(&call("it's")).await.unwrap();
    })
    .await;
    let (turn, recovered) = tapes.begin(NAME).await.unwrap();
    assert_eq!(recovered.unwrap().entries, 3);
    let found: Vec<Entry> = turn.read(0, 3).await.unwrap();
    for (draft, entry) in drafts().iter().zip(&found) {
        assert_eq!((draft.kind(), draft.payload(), draft.meta()), (&*entry.kind, &*entry.payload, &*entry.meta));
    }
    turn.append(drafts()).await.unwrap();
    turn.merge().await.unwrap();
    turn.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_in_the_database_before_a_tool_begins_and_soon_without_one() {
    let Some((tapes, address)) = first().await else { return };
    let server = Postgres::shared().unwrap();
    let holds = |text: &str| {
        let statement = format!("SELECT count(*) FROM journal WHERE position('{text}'::bytea IN records) > 0");
        server.sql(&address, &statement) == "1"
    };
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    turn.append(vec![message("user", "before the tool")]).await.unwrap();
    turn.keep_tool(&call("one")).await.unwrap();
    assert!(holds("before the tool") && holds("\"id\": \"one\""));
    turn.keep_prompt("and behind it").unwrap();
    while !holds("and behind it") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A turn that ends without a merge leaves all of it to the next one.
    turn.append(vec![message("user", "at the end")]).await.unwrap();
    turn.close();
    tapes.journals().released().await;
    assert!(holds("at the end"));
    let (next, recovered) = tapes.begin(NAME).await.unwrap();
    assert_eq!(recovered.unwrap().entries, 2);
    next.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_set_aside_stays_out_of_context() {
    let Some((tapes, address)) = first().await else { return };
    crash(&address, |_, turn| async move {
        turn.append(vec![message("user", "again")]).await.unwrap();
        turn.keep_tool(&call("one")).await.unwrap();
    })
    .await;
    assert_eq!(tapes.interrupted(NAME).await.unwrap().set_aside().await.unwrap().unwrap().entries, 1);
    let all = tapes.open(NAME).unwrap().read(0, 9).await.unwrap();
    assert!(
        all.iter().all(|entry| entry.meta.contains("\"context\": false") || entry.meta.contains("false")),
        "{all:?}"
    );
    say(&tapes, "again").await;
}
