//! A memory that is written for years: versions that hold no longer go after a while, and the one that holds never does.

use super::*;

/// A step of an erasure at which a process may end, see `host/tape/src/failpoint.rs`.
const STEPS: [&str; 4] = ["erase.begun", "erase.written", "erase.renamed", "erase.end"];

/// A workspace's tape with so many versions of its memory, all of them months old, and one that was never sealed.
fn grown(versions: u64) -> Home {
    let home = keeping();
    let mut lines = Vec::new();
    for version in 1..=versions {
        let data = json!({ "content": format!("version {version}"), "updated_at": "" });
        lines.push(bubs("open", version));
        lines.push(("event", json!({ "name": "memory.long_term", "data": data }), json!({ "zone": true })));
        lines.push(bubs("seal", version));
        if version == 2 {
            lines.push(bubs("open", 99));
            lines.push(("event", json!({ "name": "other.thing", "data": "not of a zone" }), json!({})));
        }
    }
    plant(&home, WORKSPACE, &lines);
    home
}

fn held(home: &Home) -> Vec<String> {
    let seals = entries(home, WORKSPACE).into_iter().filter(|entry| is_anchor(entry, "memory/seal"));
    seals.map(|entry| entry["payload"]["state"]["version"].to_string()).collect()
}

#[track_caller]
fn gc(home: &Home) -> String {
    let finished = home.bub(["tape", "gc"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.stdout
}

#[test]
fn old_superseded_versions_are_removed_and_everything_else_is_kept() {
    let home = grown(40);
    let before = std::fs::metadata(home.tape_file(WORKSPACE)).expect("a tape").len();
    let last = entries(&home, WORKSPACE).last().cloned().expect("entries");
    let would = home.bub(["tape", "gc", "--dry-run"]).finish();
    assert!(would.stdout.contains("of old versions of the memory would be erased from 1 tape"), "{would}");
    assert_eq!(held(&home).len(), 40);
    let said = gc(&home);
    assert!(said.contains("118 entries of old versions of the memory were erased from 1 tape"), "{said}");
    assert_eq!(held(&home), ["40"]);
    assert!(std::fs::metadata(home.tape_file(WORKSPACE)).expect("a tape").len() < before / 10);
    let left = entries(&home, WORKSPACE);
    assert_eq!(left.last(), Some(&last), "the version that holds is as it was");
    assert!(left.iter().any(|entry| entry["payload"]["name"] == "other.thing"));
    assert!(system(&home, SESSION).contains("version 40"));
    typed(&home, ",memory.save content=next");
    assert_eq!(contents(&home, WORKSPACE).0, 41, "versions go on");
}

#[test]
fn a_version_that_was_replaced_lately_is_kept_for_as_long_as_is_configured() {
    let home = grown(3);
    typed(&home, ",memory.save content=new");
    typed(&home, ",memory.save content=newer");
    gc(&home);
    // The third was replaced today, whatever its own age.
    assert_eq!(held(&home), ["3", "4", "5"]);
    home.configure("memory_history_days = 0");
    home.run(["hi"]).finish().refuses(&["memory_history_days"]);
}

#[test]
fn a_turn_compacts_memory_once_a_day_after_its_answer() {
    let home = grown(40);
    assert!(system(&home, SESSION).contains("version 40"));
    assert_eq!(held(&home), ["40"]);
    plant(&home, WORKSPACE, &[bubs("open", 1), bubs("seal", 1), bubs("open", 2), bubs("seal", 2)]);
    system(&home, SESSION);
    assert_eq!(held(&home), ["1", "2"], "not twice on a day");
}

#[test]
fn a_sessions_memory_does_not_grow_without_end_either() {
    let home = grown(5);
    std::fs::rename(home.tape_file(WORKSPACE), home.sidecar_file(SESSION, "memory")).expect("it can be moved");
    home.run(["hi"]).model(&Server::new([Answer::text("yes")])).finish().says("[cli:local]\nyes\n");
    let seals = kept(&home, SESSION).iter().filter(|entry| is_anchor(entry, "memory/seal")).count();
    assert_eq!(seals, 1);
    assert!(system(&home, SESSION).contains("version 5"));
}

#[test]
fn wherever_it_ends_the_version_that_holds_is_there() {
    for step in STEPS {
        let home = grown(10);
        let cut = home.bub(["tape", "gc"]).env("BUB_FAILPOINT", step).finish();
        assert_ne!(cut.code, Some(0), "{step}: it was cut off\n{cut}");
        assert_eq!(contents(&home, WORKSPACE).1.as_deref(), Some("version 10"), "{step}");
        gc(&home);
        assert_eq!(held(&home), ["10"], "{step}");
        typed(&home, ",memory.daily content=x date=2025-07-17");
        assert_eq!(contents(&home, WORKSPACE).0, 11, "{step}");
    }
}

/// Some write to the memory while others tidy it up: no note is lost.
#[test]
fn concurrent_writers_and_compaction_do_not_conflict() {
    const NOTES: usize = 6;
    let home = grown(60);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let home = &home;
            scope.spawn(move || {
                for note in 0..NOTES {
                    let line = format!(",memory.daily content='- note {writer}.{note}' date=2025-07-17");
                    let finished = home.run([&line as &str, "--session-id", &format!("s{writer}")]).finish();
                    assert_eq!(finished.code, Some(0), "{finished}");
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| (0..NOTES).for_each(|_| drop(gc(&home))));
        }
    });
    let (version, long_term, notes) = contents(&home, WORKSPACE);
    assert_eq!((version, long_term.as_deref()), (60 + 2 * NOTES as u64, Some("version 60")));
    for note in (0..2).flat_map(|writer| (0..NOTES).map(move |note| format!("- note {writer}.{note}"))) {
        assert!(notes[0].1.contains(&note), "{note}: {notes:?}");
    }
    assert_eq!(held(&home).first().map(String::as_str), Some("60"), "the old ones are gone");
}
