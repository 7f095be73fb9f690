//! A turn reads from memory the same as from the tape.

use bub_store_tests::{NAME, SIDE, message};
use bub_tape::{Draft, Lookup, Tape, event, handoff};
use bub_test_support::Chance;

use super::first;

/// Entries of any kind, with few that begin a phase.
fn drafts(chance: &mut Chance, count: usize) -> Vec<Draft> {
    (0..count)
        .map(|number| match chance.below(400) {
            0 => handoff("phase", None).unwrap().into_iter().next().unwrap(),
            1 => event("rare", "{}").unwrap(),
            2 => Draft::new("system", r#"{"content": "be brief"}"#, "{}").unwrap(),
            3..60 => event(["loop", "run", "other"][number % 3], "{}").unwrap(),
            60 => message("user", &"long ".repeat(chance.below(60_000))),
            _ => message("user", &number.to_string()),
        })
        .collect()
}

async fn compare(turn: &Tape, stored: &Tape, chance: &mut Chance) {
    let last = stored.last_id().await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), last);
    let around = |chance: &mut Chance| chance.below(usize::try_from(last).unwrap() + 4) as u64;
    for _ in 0..12 {
        let (id, max) = (around(chance), chance.below(700));
        let before = Some(id).filter(|_| !chance.one_in(4));
        assert_eq!(turn.read(id, max).await.unwrap(), stored.read(id, max).await.unwrap(), "after {id}, {max}");
        let (tail, expected) = (turn.tail(before, max).await.unwrap(), stored.tail(before, max).await.unwrap());
        assert_eq!(tail, expected, "before {before:?}, {max}");
        let unknown = [Lookup::event("run"), Lookup::Kind("message".to_owned())];
        for lookup in super::lookups().iter().chain(&unknown) {
            let newest = turn.newest_before(lookup, before).await.unwrap();
            assert_eq!(newest, stored.newest_before(lookup, before).await.unwrap(), "{lookup:?} before {before:?}");
        }
    }
    assert_eq!(turn.read(0, 1).await.unwrap(), stored.read(0, 1).await.unwrap());
    assert_eq!(turn.since_anchor().await.unwrap(), stored.since_anchor().await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_reads_the_same_as_the_store_from_any_cached_state() {
    let Some((tapes, _)) = first().await else { return };
    let mut chance = Chance::new(24);
    let mut longest = 0;
    for round in 0..bub_test_support::tier::in_full(60, 12) {
        let stored = tapes.open(NAME).unwrap();
        match chance.below(6) {
            0 if round > 3 => drop(stored.reset(true).await.unwrap()),
            1 => drop(stored.sidecar("more").unwrap().append(drafts(&mut chance, 3)).await.unwrap()),
            _ => {
                let count = 1 + chance.below(900);
                stored.append(drafts(&mut chance, count)).await.unwrap();
                let count = 1 + chance.below(60);
                stored.sidecar("notes").unwrap().append(drafts(&mut chance, count)).await.unwrap();
            }
        }
        let (turn, _) = tapes.begin(NAME).await.unwrap();
        compare(&turn, &stored, &mut chance).await;
        let (beside, notes) = (turn.sidecar("notes").unwrap(), stored.sidecar("notes").unwrap());
        compare(&beside, &notes, &mut chance).await;
        let none = (turn.sidecar("none").unwrap(), stored.sidecar("none").unwrap());
        compare(&none.0, &none.1, &mut chance).await;
        assert_eq!(turn.sidecars().await.unwrap(), stored.sidecars().await.unwrap());
        // Half of them leave a journal, which the next one empties.
        if chance.one_in(2) {
            turn.merge().await.unwrap();
        }
        turn.close();
        // A reset may follow.
        longest = longest.max(tapes.store().last_id(SIDE).await.unwrap());
    }
    assert!(longest > 64, "longer than what comes with the lease");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tape_with_many_sidecars_is_read_as_well() {
    let Some((tapes, _)) = first().await else { return };
    let stored = tapes.open(NAME).unwrap();
    for number in 0..20 {
        stored.sidecar(&format!("side{number:02}")).unwrap().append(vec![message("user", "x")]).await.unwrap();
    }
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(turn.sidecars().await.unwrap().len(), 20);
    for name in ["side00", "side15", "side16", "side19", "side20"] {
        let expected = u64::from(name != "side20");
        assert_eq!(turn.sidecar(name).unwrap().last_id().await.unwrap(), expected, "{name}");
    }
    turn.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_direct_write_shows_in_the_turn_as_in_other_stores() {
    let Some((tapes, _)) = first().await else { return };
    let (turn, _) = tapes.begin(NAME).await.unwrap();
    assert_eq!(turn.last_id().await.unwrap(), 0);
    assert_eq!(turn.append_direct(0, vec![message("user", "direct")]).await.unwrap(), 1);
    assert_eq!(turn.last_id().await.unwrap(), 1);
    turn.close();
}
