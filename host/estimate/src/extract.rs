//! Extractive summaries: the most informative sentences, in order.

use crate::{Corpus, estimate, terms, to_tokens};
use std::collections::BTreeSet;

/// The longest sentence that is quoted whole, in characters.
const MAX_SENTENCE: usize = 300;

/// The most sentences that are considered, newest first: the cost grows with them.
const LOOKED_AT: usize = 1_000;

/// The most informative sentences of these texts (oldest first) in at most `most` tokens: one per line, in their order.
/// Sentences marked to be kept come first, then those with names and numbers, then rare ones; near-duplicates are
/// quoted once.
pub fn extract(texts: &[&str], most: u64) -> String {
    let mut seen = BTreeSet::new();
    let all: Vec<&str> = texts.iter().flat_map(|text| sentences(text)).collect();
    let mut sentences = all[all.len().saturating_sub(LOOKED_AT)..].to_vec();
    // Prefer the newest of two similar sentences.
    sentences.reverse();
    sentences.retain(|sentence| seen.insert(sentence.trim_end_matches(['.', '。', '!', '！'])));
    sentences.reverse();
    let weights = weights(&sentences);
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    // Prefer the newer of two equal weights.
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(b.cmp(a)));
    let mut left = most;
    let mut taken = BTreeSet::new();
    for at in order {
        let tokens = estimate(shown(sentences[at])) + 1;
        if weights[at] > 0.0 && tokens <= left {
            left -= tokens;
            taken.insert(at);
        }
    }
    let lines: Vec<&str> = taken.into_iter().map(|at| shown(sentences[at])).collect();
    to_tokens(&lines.join("\n"), most).to_owned()
}

fn shown(sentence: &str) -> &str {
    sentence.char_indices().nth(MAX_SENTENCE).map_or(sentence, |(end, _)| &sentence[..end])
}

/// Sentences and lines of a text, without empty phrases.
pub fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    for line in text.lines() {
        let mut begin = 0;
        let mut characters = line.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let ends = match character {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' => characters.peek().is_none_or(|(_, next)| next.is_whitespace()),
                _ => false,
            };
            if ends {
                let end = at + character.len_utf8();
                sentences.push(line[begin..end].trim());
                begin = end;
            }
        }
        sentences.push(line[begin..].trim());
    }
    sentences.retain(|sentence| sentence.chars().filter(|character| character.is_alphanumeric()).count() > 3);
    sentences
}

/// Phrases that mark what must be kept.
const KEEP: [&str; 26] = [
    "remember",
    "important",
    "always",
    "never",
    "must",
    "prefer",
    "decided",
    "decision",
    "my name",
    "password",
    "code is",
    "deadline",
    "todo",
    "goal",
    "记住",
    "重要",
    "必须",
    "喜欢",
    "偏好",
    "决定",
    "名字",
    "密码",
    "截止",
    "目标",
    "覚えて",
    "запомни",
];

fn weights(sentences: &[&str]) -> Vec<f64> {
    let corpus = Corpus::new(sentences.iter().copied());
    let weight = |sentence: &&str| {
        let lower = sentence.to_lowercase();
        let kept = KEEP.iter().filter(|mark| lower.contains(*mark)).count().min(2) as f64;
        let numbers =
            sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().any(|c| c.is_ascii_digit()));
        let numbers = numbers.count().min(3) as f64;
        let names =
            sentence.split_whitespace().skip(1).filter(|word| word.chars().next().is_some_and(char::is_uppercase));
        let names = names.count().min(3) as f64;
        let asks = if lower.ends_with(['?', '？']) { 1.0 } else { 0.0 };
        3.0 * kept + 0.8 * numbers + 0.5 * names + corpus.rarity(sentence) - asks
    };
    sentences.iter().map(weight).collect()
}

impl Corpus {
    /// The average rarity of a text's terms, 0 to 1: a term of every text is not informative.
    fn rarity(&self, text: &str) -> f64 {
        let terms = terms(text);
        let all = self.len().max(1) as f64;
        let rare: f64 = terms.keys().map(|term| 1.0 - f64::from(self.held(term)) / all).sum();
        rare / terms.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_marked_to_be_kept_survives_any_amount_of_other_text() {
        let mut texts: Vec<String> = (0..400).map(|n| format!("We looked at step {n} and it was fine.")).collect();
        texts[2] = "Remember that the gate code is 7319. The weather is nice.".to_owned();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let summary = extract(&texts, 100);
        assert!(summary.contains("the gate code is 7319"), "{summary}");
        assert!(estimate(&summary) <= 100);
        // A summary of a summary keeps it too.
        let again = extract(&[&summary, "We looked at step 401 and it was fine."], 30);
        assert!(again.contains("7319"), "{again}");
    }

    #[test]
    fn chinese_sentences_are_sentences() {
        let summary = extract(&["今天天气不错。请记住我的猫叫豆豆。我们去散步吧。"], 10);
        assert_eq!(summary, "请记住我的猫叫豆豆。");
    }

    #[test]
    fn empty_input_and_an_empty_budget_give_an_empty_summary() {
        assert_eq!(extract(&[], 100), "");
        assert_eq!(extract(&["ok. yes!"], 100), "");
        assert_eq!(extract(&["A sentence that would do."], 0), "");
    }
}
