//! `search`.

use super::{BUBS, home_with, home_with_bubs, json, message, tape};
use bub_tests::Home;

fn found(home: &Home, words: &[&str]) -> Vec<u64> {
    let hits = json(&tape(home, ["search"].into_iter().chain(words.iter().copied()).chain(["--json"])));
    hits["hits"].as_array().into_iter().flatten().filter_map(|hit| hit["entry"]["id"].as_u64()).collect()
}

#[test]
fn words_are_found_newest_first_and_can_be_narrowed() {
    let home = home_with_bubs();
    assert_eq!(found(&home, &["did things", BUBS, "--kind", "anchor,tool_call"]), [16, 12]);
    assert_eq!(found(&home, &["hello from", BUBS, "--kind", "message"]), [30]);
    assert_eq!(found(&home, &["phase-1", BUBS, "--limit", "2"]).len(), 2);
    assert!(found(&home, &["phase-1", BUBS, "--until", "2026-11-20"]).is_empty());
    assert!(found(&home, &["phase-1", BUBS, "--since", "2026-11-22"]).is_empty());
    tape(&home, ["search", "nowhere-to-be-found", BUBS]).mentions("nothing was found");
}

#[test]
fn chinese_words_and_typing_errors_are_found() {
    let home =
        home_with("aaaa__bbbb", &[&message(1, "user", "把磁带倒回去"), &message(2, "user", "rewind the cassette")]);
    assert_eq!(found(&home, &["磁带", "aaaa__bbbb"]), [1]);
    assert_eq!(found(&home, &["casette", "aaaa__bbbb"]), [2]);
    let finished = tape(&home, ["search", "casette", "aaaa__bbbb"]);
    assert!(finished.stdout.contains("about"), "that it is no exact hit\n{finished}");
}

#[test]
fn a_hit_shows_the_place_in_a_long_text() {
    let text = format!("{}needle {}", "hay ".repeat(500), "hay ".repeat(500));
    let home = home_with("aaaa__bbbb", &[&message(1, "user", &text)]);
    let finished = tape(&home, ["search", "needle", "aaaa__bbbb"]);
    assert!(finished.stdout.contains("hay needle hay"), "{finished}");
    assert!(finished.stdout.lines().count() <= 3, "{finished}");
}

#[test]
fn invalid_arguments_are_rejected() {
    let home = home_with_bubs();
    for (words, naming) in [
        (&["search", " ", BUBS][..], "at least one word"),
        (&["search", "x", BUBS, "--since", "yesterday"], "`yesterday`"),
        (&["search", "x", BUBS, "--since", "2026-11-22", "--until", "2026-11-21"], "after the second"),
    ] {
        home.bub(std::iter::once("tape").chain(words.iter().copied())).finish().refuses(&[naming]);
    }
}
