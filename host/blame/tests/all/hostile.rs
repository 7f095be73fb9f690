//! Documents that are huge, deep, damaged or no JSON.

use crate::blamed;
use bub_blame::{Part, PartKind, RequestTrail, Source, Stage};
use bub_test_support::Chance;
use std::time::{Duration, Instant};

fn trail_of(before: &str, after: &str) -> RequestTrail {
    let mut trail = RequestTrail::new("cli:local", "turn-1");
    let entry = trail.source(Source::entry(1));
    let plugin = trail.source(Source::plugin("p\u{1b}[31m", "0", "before-llm-call"));
    trail.parts.push(Part::new(PartKind::Message, before, entry));
    trail.stages.push(Stage::new(plugin).with_messages([after]));
    trail.body = after.into();
    trail
}

#[test]
fn every_byte_of_a_document_that_is_no_json_has_one_source() {
    let texts = [
        "",
        "{",
        "\"",
        "\\",
        "\"\\",
        "\"\\u",
        "\"\\ud83d",
        "\"\\ud83d\\u0041\"",
        "[[[[",
        "}}}}",
        "{\"a\"",
        "{\"a\":",
        ",,,",
        "{\"a\":1 2 3}",
        "NaN",
        "\u{0}\u{1b}[2J",
        "{\"a\":\"\\uZZZZ\"}",
        "é\"é\\é",
        "{\"a\":{},\"a\":[],\"a\":1}",
    ];
    for before in texts {
        for after in texts {
            blamed(&trail_of(before, after)).report();
        }
    }
}

#[test]
fn random_bytes_break_nothing() {
    let alphabet: Vec<char> = "{}[]\",:\\u0d8é😀 abn\n".chars().collect();
    for seed in 0..2_000 {
        let mut chance = Chance::new(seed);
        let mut text = || (0..chance.below(60)).map(|_| alphabet[chance.below(alphabet.len())]).collect::<String>();
        let (before, after) = (text(), text());
        blamed(&trail_of(&before, &after)).report();
    }
}

#[test]
fn large_documents_take_a_moment_and_deep_ones_no_stack() {
    let began = Instant::now();
    let deep = "[".repeat(200_000);
    blamed(&trail_of(&deep, &deep));
    let many = format!("{{{}}}", "\"a\":\"same\",".repeat(20_000));
    blamed(&trail_of(&many, &many.replacen("same", "other", 100)));
    let mut chance = Chance::new(7);
    let mut text = |count: usize| (0..count).map(|_| format!("w{} ", chance.below(500))).collect::<String>();
    let [one, other] = [text(40_000), text(40_000)].map(|text| format!("{{\"content\":\"{text}\"}}"));
    blamed(&trail_of(&one, &other));
    println!("{:?}", began.elapsed());
    // Without optimization a few seconds, and minutes if it took the product of the lengths.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
