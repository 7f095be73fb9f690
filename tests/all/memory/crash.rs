//! A process that ends in the middle of a write.

use super::*;

/// The steps of a write to a tape, see `host/tape/src/fail.rs`.
const STEPS: [&str; 7] = [
    "commit.locked",
    "commit.begun",
    "commit.block@0",
    "commit.block@40",
    "commit.block@-1",
    "commit.written",
    "commit.end",
];

/// Wherever a writer ends, the old section or the new one applies, and the next writer continues with it.
#[test]
fn an_interrupted_writer_leaves_the_old_section_or_the_new_one() {
    let mut outcomes = [0, 0];
    for step in STEPS {
        let home = keeping();
        typed(&home, ",memory.daily content='- first' date=2025-07-17");
        let script = r#"TOOL:memory.daily {"content": "- second", "date": "2025-07-17"}"#;
        let finished = home.run([script]).env("BUB_FAILPOINT", step).finish();
        assert_ne!(finished.code, Some(0), "{step}: it was cut off\n{finished}");
        typed(&home, ",memory.daily content='- third' date=2025-07-17");
        let (version, _, notes) = contents(&home, WORKSPACE);
        let lines: Vec<&str> = notes[0].1.lines().skip(2).collect();
        match version {
            2 => assert_eq!(lines, ["- first", "- third"], "{step}"),
            _ => assert_eq!((version, lines), (3, vec!["- first", "- second", "- third"]), "{step}"),
        }
        outcomes[usize::from(version == 3)] += 1;
    }
    assert!(outcomes.iter().all(|count| *count > 0), "both happen: {outcomes:?}");
}

/// A section that Bub was writing when it ended does not apply.
#[test]
fn an_open_without_its_seal_changes_nothing() {
    let home = keeping();
    let long_term = |text: &str| {
        ("event", json!({ "name": "memory.long_term", "data": { "content": text, "updated_at": "" } }), json!({}))
    };
    let whole = [bubs("open", 1), long_term("whole"), bubs("seal", 1)];
    for cut in [vec![bubs("open", 2)], vec![bubs("open", 2), long_term("half")], vec![bubs("seal", 2)]] {
        let lines: Vec<_> = whole.iter().cloned().chain(cut).collect();
        plant(&home, WORKSPACE, &lines);
        assert!(system(&home, SESSION).contains("## Long-term Memory\nwhole"));
        assert!(typed(&home, ",memory.show").starts_with("workspace: version 1\n"));
    }
}
