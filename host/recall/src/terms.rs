//! Lexical relevance: the share of a question's terms in a passage.
//!
//! Words are compared by stems, by common prefixes where their endings differ, and as parts of compounds; English
//! synonyms count half. Scripts without spaces are compared by pairs of characters, since most Chinese words have two.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

static STOP: LazyLock<HashSet<String>> = LazyLock::new(|| lines(include_str!("stop.txt")).flat_map(words).collect());

static STOP_RUNS: LazyLock<Vec<&str>> =
    LazyLock::new(|| lines(include_str!("stop_runs.txt")).flat_map(str::split_whitespace).collect());

static RELATED: LazyLock<HashMap<String, HashSet<String>>> = LazyLock::new(|| {
    let mut related: HashMap<String, HashSet<String>> = HashMap::new();
    for group in lines(include_str!("related.txt")) {
        let group: Vec<String> = group.split_whitespace().map(stem).collect();
        for word in &group {
            related.entry(word.clone()).or_default().extend(group.iter().filter(|other| *other != word).cloned());
        }
    }
    related
});

/// Maximum terms of a question.
const MAX_TERMS: usize = 24;

/// The weight of another form of a word, of a part of a compound, and of a synonym.
const FORM: f64 = 0.85;
const PART: f64 = 0.8;
const SAME_THING: f64 = 0.5;

/// Two words are forms of one word if they share a prefix of this length, and of this part of the longer word.
const SHARED: usize = 4;
const SHARED_PART: f64 = 0.7;

/// A word is part of a compound if it has this length, and this part of the compound's.
const WHOLE: usize = 5;
const WHOLE_PART: f64 = 0.4;

fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

/// The terms of a text, in order: stems, and pairs of characters in scripts without spaces.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in words(text) {
        for run in runs(&word) {
            match run.chars().next().is_some_and(is_dense) {
                true => dense(run, &mut terms),
                false if STOP.contains(run) => {}
                false => terms.push(stem(run)),
            }
        }
    }
    terms
}

/// The distinct terms of a question.
pub(super) fn question_terms(question: &str) -> Vec<String> {
    let mut known = HashSet::new();
    let mut terms = terms(question);
    terms.retain(|term| known.insert(term.clone()));
    terms.truncate(MAX_TERMS);
    terms
}

/// The term and its synonyms.
pub(super) fn widened(term: &str) -> impl Iterator<Item = &str> {
    RELATED.get(term).into_iter().flatten().map(String::as_str).chain([term])
}

/// Words in lower case and without accents.
fn words(text: &str) -> Vec<String> {
    let folded: String = text.chars().flat_map(char::to_lowercase).map(plain).filter(|c| !is_accent(*c)).collect();
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A word split where a script without spaces begins or ends.
fn runs(word: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next().map(is_dense) {
        let end = rest.find(|c| is_dense(c) != first).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        runs.push(run);
        rest = behind;
    }
    runs
}

/// Thai, and the scripts of China and Japan.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c), 0x0e00..0x0e80 | 0x2e80..0xa000 | 0xf900..0xfb00 | 0x20000..0x40000)
}

fn dense(run: &str, terms: &mut Vec<String>) {
    let mut kept = run.to_owned();
    for empty in STOP_RUNS.iter() {
        kept = kept.replace(empty, " ");
    }
    for piece in kept.split_whitespace() {
        let characters: Vec<char> = piece.chars().collect();
        match characters.len() {
            1 => terms.push(piece.to_owned()),
            _ => terms.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>())),
        }
    }
}

/// The word without an English ending; other languages are compared by prefixes.
fn stem(word: &str) -> String {
    const ENDINGS: [&str; 13] = ["ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "s", "ly", "er", "e", "y"];
    if !word.is_ascii() {
        return word.to_owned();
    }
    let stem = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() >= 3));
    let Some(stem) = stem else { return word.to_owned() };
    let mut ends = stem.bytes().rev();
    match (ends.next(), ends.next()) {
        (Some(last), Some(before)) if last == before && stem.len() > 3 => stem[..stem.len() - 1].to_owned(),
        _ => stem.to_owned(),
    }
}

/// The weight of a passage's word for a word of the question.
fn similarity(asked: &str, word: &str) -> f64 {
    if asked == word {
        return 1.0;
    }
    let is_word = |text: &str| text.len() >= SHARED && !text.chars().next().is_some_and(is_dense);
    if is_word(asked) && is_word(word) {
        let (a, b) = (asked.chars().count(), word.chars().count());
        let (short, long, least, most) = if a < b { (asked, word, a, b) } else { (word, asked, b, a) };
        let shared = asked.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
        // Exact: words are far shorter than 2^52 characters.
        let part = |characters: usize| characters as f64 / most as f64;
        if shared >= SHARED && part(shared) >= SHARED_PART {
            return FORM;
        }
        if least >= WHOLE && part(least) >= WHOLE_PART && (long.starts_with(short) || long.ends_with(short)) {
            return PART;
        }
    }
    match RELATED.get(asked) {
        Some(related) if related.contains(word) => SAME_THING,
        _ => 0.0,
    }
}

/// A question, with the rarity of each of its terms.
#[derive(Debug, Clone)]
pub(super) struct RankedTerms {
    terms: Vec<(String, f64)>,
    weight: f64,
}

impl RankedTerms {
    /// `holding`: the number of `passages` that contain each term.
    pub(super) fn new(terms: Vec<String>, holding: &[u64], passages: u64) -> Self {
        let rarity = |held: u64| ((passages as f64 + 1.0) / (held as f64 + 1.0)).ln().max(0.1);
        let terms: Vec<(String, f64)> = terms.into_iter().zip(holding.iter().map(|held| rarity(*held))).collect();
        let weight = terms.iter().map(|(_, weight)| weight).sum();
        Self { terms, weight }
    }

    /// The share of the question's terms in the passage, 0 to 1, weighted by rarity.
    pub(super) fn coverage(&self, passage: &str) -> f64 {
        if self.weight <= 0.0 {
            return 0.0;
        }
        let words = terms(passage);
        let best = |asked: &str| words.iter().map(|word| similarity(asked, word)).fold(0.0, f64::max);
        self.terms.iter().map(|(term, weight)| weight * best(term)).sum::<f64>() / self.weight
    }
}

/// The letter without its accent, if both are one character.
fn plain(c: char) -> char {
    const PLAIN: [(&str, char); 17] = [
        ("àáâãäåāăą", 'a'),
        ("çćĉċč", 'c'),
        ("ďđ", 'd'),
        ("èéêëēĕėęě", 'e'),
        ("ĝğġģ", 'g'),
        ("ĥħ", 'h'),
        ("ìíîïĩīĭį", 'i'),
        ("ķ", 'k'),
        ("ĺļľł", 'l'),
        ("ñńņň", 'n'),
        ("òóôõöøōŏő", 'o'),
        ("ŕŗř", 'r'),
        ("śŝşš", 's'),
        ("ţťŧ", 't'),
        ("ùúûüũūŭůűų", 'u'),
        ("ýÿŷ", 'y'),
        ("źżž", 'z'),
    ];
    match c {
        'ё' => 'е',
        'й' => 'и',
        _ if c.is_ascii() || c > 'ž' => c,
        _ => PLAIN.iter().find(|(accented, _)| accented.contains(c)).map_or(c, |(_, plain)| *plain),
    }
}

/// Combining accents.
fn is_accent(c: char) -> bool {
    matches!(u32::from(c), 0x0300..0x0370)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_and_parts_of_compounds_are_similar() {
        for (asked, word) in
            [("editor", "editors"), ("preferred", "prefers"), ("живет", "живёт"), ("größe", "Schuhgröße")]
        {
            let (asked, word) = (terms(asked).remove(0), terms(word).remove(0));
            assert!(similarity(&asked, &word) >= PART, "{asked} {word}");
        }
        assert!(similarity("telephon", "photosynthesi") < 0.1);
    }

    #[test]
    fn scripts_without_spaces_are_compared_by_pairs() {
        assert_eq!(terms("我喜欢喝黑咖啡"), ["喜欢", "欢喝", "喝黑", "黑咖", "咖啡"]);
        let question = RankedTerms::new(question_terms("咖啡加糖吗?"), &[1, 1, 1], 10);
        assert!(question.coverage("我喜欢喝黑咖啡。") > 0.3);
        assert!(question.coverage("我女儿叫小雨。") < 0.01);
    }

    #[test]
    fn a_question_of_empty_words_asks_about_nothing() {
        assert!(question_terms("what is it, and who are you?").is_empty());
        assert!(RankedTerms::new(Vec::new(), &[], 3).coverage("anything") < 0.01);
    }
}
