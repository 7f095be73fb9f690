use bub_tape::{Entry, Matcher, Search};

use super::{found, ids, line, search, texts};

#[test]
fn typing_errors_are_forgiven_by_the_length_of_the_word() {
    let tape = texts(&[
        "the Session was archived",
        "journal of recovery",
        "用Rust写插件",
        "Привет, мир",
        "naïveté",
        "see /home/user/projects/tape/file.rs",
    ]);
    for (text, expected) in [
        // Insert, drop, replace, swap.
        ("sesssion", vec![1]),
        ("sesion", vec![1]),
        ("sexsion", vec![1]),
        ("sessoin", vec![1]),
        ("esssion", vec![1]),
        ("SESSOIN", vec![1]),
        ("wass", vec![1]),
        ("teh", vec![]),
        ("wsa", vec![]),
        // Two edits: too many for seven letters, not for eight.
        ("sesoin", vec![]),
        ("juornla", vec![]),
        ("archviedd", vec![1]),
        ("recvoeyr", vec![2]),
        ("rcvoeyry", vec![]),
        // All words must be met.
        ("jounral recovrey", vec![2]),
        ("jounral archived", vec![]),
        ("jounral of", vec![2]),
        ("jounral off", vec![]),
        // Punctuation is a typing error too; where a script without spaces begins, a word ends.
        ("sesion,", vec![1]),
        ("journal/recovrey", vec![2]),
        // But a long path stands literally.
        ("/home/usre", vec![6]),
        ("/home/usre/projects/tape/file.rs", vec![]),
        ("rsut", vec![3]),
        ("用rsut", vec![3]),
        ("我rsut", vec![]),
        ("插仲", vec![]),
        ("我们插件写用", vec![]),
        ("превет", vec![4]),
        ("naivete", vec![]),
        ("naïvete", vec![5]),
    ] {
        let hits = found(&tape, &search(text));
        assert_eq!(ids(&hits), expected, "{text}");
        assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score < 0.9), "{text}: {hits:?}");
    }
}

#[test]
fn words_with_a_digit_must_match_literally() {
    let tape = texts(&["ticket 12345", "v2beta", "12346 apples"]);
    for (text, expected) in [("12354", vec![]), ("v2beat", vec![]), ("tickte 12345", vec![1]), ("tickte 12346", vec![])]
    {
        assert_eq!(ids(&found(&tape, &search(text))), expected, "{text}");
    }
}

#[test]
fn the_score_falls_with_every_step_from_the_text() {
    let tape =
        texts(&["merge the fork", "the fork, then merge", "merge the  \n\tfork now", "remember to merge the forkk"]);
    let score = |text: &str, id: u64| {
        let hits = found(&tape, &search(text));
        hits.iter().find(|hit| hit.entry.id == id).map(|hit| hit.score)
    };
    assert_eq!(score("MERGE the fork", 1), Some(1.0));
    assert_eq!(score("  merge   the fork ", 1), Some(1.0));
    assert_eq!(score("the fork", 3), Some(1.0));
    assert_eq!(score("fork merge", 1), Some(0.9));
    assert_eq!(score("merge", 2), Some(1.0));
    let one = score("remembre", 4).unwrap();
    let two = score("remmebre", 4).unwrap();
    let with_another = score("merge remembre", 4).unwrap();
    assert!(0.9 > with_another && with_another > one && one > two && two > 0.0, "{with_another} {one} {two}");
}

#[test]
fn literal_hits_come_first_and_with_three_nothing_is_forgiven() {
    let tape = texts(&["anchor 1", "anchro 2", "anchor 3", "anchro 4"]);
    assert_eq!(ids(&found(&tape, &search("anchor"))), [3, 1, 4, 2]);
    assert_eq!(ids(&found(&tape, &Search { limit: 3, ..search("anchor") })), [3, 1, 4]);
    assert_eq!(ids(&found(&tape, &Search { limit: 2, ..search("anchor") })), [3, 1]);
    let tape = texts(&["anchor 1", "anchro 2", "anchor 3", "anchor 4"]);
    assert_eq!(ids(&found(&tape, &search("anchor"))), [4, 3, 1]);
}

#[test]
fn a_matcher_distinguishes_literal_from_similar_matches() {
    let entry = |text: &str| Entry::parse(&line(1, text)).unwrap();
    let matcher = Matcher::new(&search("silver key")).unwrap();
    for (text, literal, forgiving) in [
        ("a silver key", Some(1.0), false),
        ("key of silver", Some(0.9), false),
        ("key of sliver", None, true),
        ("kye of silver", None, false),
        ("nothing", None, false),
    ] {
        assert_eq!(matcher.literal(&entry(text)), literal, "{text}");
        assert_eq!(matcher.forgiving(&entry(text)).is_some(), forgiving, "{text}");
    }
}
