//! Random chains of stages, whose words tell which stage wrote them.

use crate::blamed;
use bub_blame::{Blame, Part, PartKind, RequestTrail, Source, Stage};
use bub_test_support::Chance;

/// The words of each stage consist of its letter: `bb bbbb`.
const LETTERS: [char; 10] = ['a', 'b', 'é', 'д', 'e', 'ß', 'g', 'h', 'ñ', 'j'];

fn word(chance: &mut Chance, stage: usize) -> String {
    LETTERS[stage].to_string().repeat(1 + chance.below(5))
}

fn words(chance: &mut Chance, stage: usize, most: usize) -> Vec<String> {
    (0..chance.below(most)).map(|_| word(chance, stage)).collect()
}

/// What a stage makes of a text: it takes out words and puts in its own.
fn edited(chance: &mut Chance, text: &[String], stage: usize) -> Vec<String> {
    let mut made = Vec::new();
    for known in text {
        match chance.below(6) {
            0 => {}
            1 => made.push(word(chance, stage)),
            2 => made.extend([known.clone(), word(chance, stage)]),
            _ => made.push(known.clone()),
        }
    }
    made.extend(words(chance, stage, 3));
    made
}

/// A text of a stage that is not taken for another.
fn distinct(chance: &mut Chance, stage: usize, at: usize) -> Vec<String> {
    (0..6).map(|_| format!("{}{at}{stage}{}", word(chance, stage), chance.below(1000))).collect()
}

fn message(text: &[String], separator: &str) -> String {
    serde_json::json!({ "role": "user", "content": text.join(separator) }).to_string()
}

/// Every word of the values of messages has the source of its letter.
fn check(blame: &Blame, seed: u64) {
    for span in blame.spans.iter().filter(|span| span.path.as_ref().is_some_and(|path| path.ends_with(".content"))) {
        let text = &blame.body[span.start..span.end];
        for letter in text.chars().filter(|character| LETTERS.contains(character)) {
            let stage = LETTERS.iter().position(|known| *known == letter).expect("it is one of them");
            // The host is the first source.
            assert_eq!(span.source, stage + 1, "seed {seed}: {text:?} in {}", blame.body);
        }
    }
}

fn trail(stages: usize) -> RequestTrail {
    let mut trail = RequestTrail::new("cli:local", "turn-1");
    for letter in LETTERS.iter().take(stages) {
        trail.source(Source::plugin(&letter.to_string(), "0", "before-llm-call"));
    }
    trail
}

#[test]
fn each_word_of_a_text_that_a_chain_of_stages_rewrote_has_the_stage_that_wrote_it() {
    for seed in 0..300 {
        let mut chance = Chance::new(seed);
        let stages = 2 + chance.below(LETTERS.len() - 2);
        let separator = [" ", "\n", "\r\n\t"][chance.below(3)];
        let mut text = words(&mut chance, 0, 60);
        let mut trail = trail(stages);
        trail.parts.push(Part::new(PartKind::Message, message(&text, separator), 1));
        for stage in 1..stages {
            text = edited(&mut chance, &text, stage);
            trail.stages.push(Stage::new(stage + 1).with_messages([message(&text, separator)]));
        }
        trail.body = format!("{{\"messages\":[{}]}}", message(&text, separator)).into();
        check(&blamed(&trail), seed);
    }
}

#[test]
fn messages_that_stages_add_remove_change_and_move_keep_the_sources_of_their_words() {
    for seed in 0..200 {
        let mut chance = Chance::new(1_000 + seed);
        let stages = 2 + chance.below(4);
        let mut trail = trail(stages);
        let mut texts: Vec<Vec<String>> = (0..1 + chance.below(8)).map(|at| distinct(&mut chance, 0, at)).collect();
        trail.parts.extend(texts.iter().map(|text| Part::new(PartKind::Message, message(text, " "), 1)));
        for stage in 1..stages {
            let mut made = Vec::new();
            for text in &texts {
                match chance.below(6) {
                    0 => {}
                    1 => {
                        let mut changed = text.clone();
                        changed.insert(chance.below(changed.len() + 1), word(&mut chance, stage));
                        made.push(changed);
                    }
                    2 => made.extend([distinct(&mut chance, stage, 10 + made.len()), text.clone()]),
                    _ => made.push(text.clone()),
                }
            }
            if chance.below(3) == 0 && !made.is_empty() {
                let moved = made.remove(chance.below(made.len()));
                made.push(moved);
            }
            texts = made;
            trail.stages.push(Stage::new(stage + 1).with_messages(texts.iter().map(|text| message(text, " "))));
        }
        let all: Vec<String> = texts.iter().map(|text| message(text, " ")).collect();
        trail.body = format!("{{\"model\":\"m\",\"messages\":[{}],\"stream\":true}}", all.join(", ")).into();
        check(&blamed(&trail), seed);
    }
}
