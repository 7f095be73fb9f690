//! Lexical similarity: words and trigrams, weighed by how rare they are.

use std::collections::BTreeMap;

/// Stop words, in languages that separate words.
const EMPTY: &str = "a an and are as at be been but by can could did do does for from had has have he her his how i if in \
    is it its me my of on or our she so that the their them there they this to us was we were what when where which who \
    why will with would you your please tell about remember remind \
    и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее мне было вот от меня о из ему \
    какой какая какое где когда это";

/// Stop words in languages without spaces, removed before trigrams are made.
const EMPTY_RUNS: [&str; 39] = [
    "什么时候",
    "什么",
    "怎么",
    "哪里",
    "哪儿",
    "多少",
    "为什么",
    "请问",
    "请",
    "的",
    "了",
    "是",
    "在",
    "我",
    "你",
    "他",
    "她",
    "吗",
    "呢",
    "吧",
    "啊",
    "和",
    "与",
    "就",
    "都",
    "也",
    "这",
    "那",
    "有",
    "个",
    "谁",
    "几",
    "呀",
    "记得",
    "记住",
    "告诉",
    "するの",
    "ですか",
    "ますか",
];

/// Length of the common prefix of two forms of a word.
const WORD_BEGINS: usize = 5;

/// The terms of a text with their frequencies. Text with spaces gives words and their trigrams; text without gives
/// characters, pairs and trigrams.
pub fn terms(text: &str) -> BTreeMap<String, u32> {
    let mut terms = BTreeMap::new();
    let lower = text.to_lowercase();
    for word in lower.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
        for run in runs(word) {
            match run {
                Run::Spaced(word) if is_empty(word) => {}
                Run::Spaced(word) => spaced(word, &mut terms),
                Run::Dense(run) => dense(run, &mut terms),
            }
        }
    }
    terms
}

enum Run<'a> {
    Spaced(&'a str),
    Dense(&'a str),
}

/// Splits a word where a script without spaces begins or ends.
fn runs(word: &str) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let dense = is_dense(first);
        let end = rest.find(|character| is_dense(character) != dense).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        runs.push(if dense { Run::Dense(run) } else { Run::Spaced(run) });
        rest = after;
    }
    runs
}

fn is_dense(character: char) -> bool {
    matches!(u32::from(character), 0x0e00..0x0e80 | 0x2e80..0xa000 | 0xf900..0xfb00 | 0x20000..0x40000)
}

fn is_empty(word: &str) -> bool {
    EMPTY.split(' ').any(|empty| empty == word)
}

/// A word counts as a whole, and by its trigrams, so that its other forms are similar.
fn spaced(word: &str, terms: &mut BTreeMap<String, u32>) {
    let stem = stem(word);
    *terms.entry(stem.to_owned()).or_default() += 2;
    let characters: Vec<char> = stem.chars().collect();
    for trigram in characters.windows(3).filter(|_| characters.len() > 3) {
        *terms.entry(format!("~{}", trigram.iter().collect::<String>())).or_default() += 1;
    }
}

/// Removes English plural and possessive endings.
fn stem(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 3 && !stem.ends_with('s') && word.is_ascii() => stem,
        _ => word,
    }
}

fn dense(run: &str, terms: &mut BTreeMap<String, u32>) {
    let mut kept = run.to_owned();
    for empty in EMPTY_RUNS {
        kept = kept.replace(empty, " ");
    }
    for piece in kept.split(' ').filter(|piece| !piece.is_empty()) {
        let characters: Vec<char> = piece.chars().collect();
        for character in &characters {
            *terms.entry(character.to_string()).or_default() += 1;
        }
        for pair in characters.windows(2) {
            *terms.entry(pair.iter().collect()).or_default() += 1;
        }
        for trigram in characters.windows(3) {
            *terms.entry(format!("~{}", trigram.iter().collect::<String>())).or_default() += 1;
        }
    }
}

/// A quick filter: a text that shares a term with the question contains one of these, word stems and pairs of scripts
/// without spaces.
pub fn marks(question: &str) -> Vec<String> {
    let words = terms(question).into_keys().filter(|term| !term.starts_with('~'));
    words.map(|word| word.chars().take(WORD_BEGINS).collect()).collect()
}

/// Texts to compare a question with. The rarity of a term is counted over all of them.
pub struct Corpus {
    texts: Vec<BTreeMap<String, u32>>,
    /// Number of texts that contain a term.
    held: BTreeMap<String, u32>,
}

impl Corpus {
    /// A corpus of these texts.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let texts: Vec<_> = texts.into_iter().map(terms).collect();
        let mut held = BTreeMap::new();
        for term in texts.iter().flat_map(BTreeMap::keys) {
            *held.entry(term.clone()).or_default() += 1;
        }
        Self { texts, held }
    }

    /// The cosine of the question's TF-IDF vector with each text's, 0 to 1, in the order of the texts.
    pub fn similarities(&self, question: &str) -> Vec<f64> {
        let question = self.vector(&terms(question));
        let length = norm(&question);
        let similarity = |text: &BTreeMap<String, u32>| {
            let vector = self.vector(text);
            let dot: f64 = question.iter().filter_map(|(term, weight)| Some(weight * vector.get(term)?)).sum();
            let lengths = length * norm(&vector);
            if lengths > 0.0 { (dot / lengths).min(1.0) } else { 0.0 }
        };
        self.texts.iter().map(similarity).collect()
    }

    /// Number of texts.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Number of texts that contain a term.
    pub(crate) fn held(&self, term: &str) -> u32 {
        self.held.get(term).copied().unwrap_or(0)
    }

    fn vector(&self, terms: &BTreeMap<String, u32>) -> BTreeMap<String, f64> {
        let all = self.texts.len() as f64;
        let weight = |term: &str, count: u32| {
            let held = f64::from(self.held(term));
            (1.0 + f64::from(count).ln()) * (((all + 1.0) / (held + 1.0)).ln() + 1.0)
        };
        terms.iter().map(|(term, count)| (term.clone(), weight(term, *count))).collect()
    }
}

fn norm(vector: &BTreeMap<String, f64>) -> f64 {
    vector.values().map(|weight| weight * weight).sum::<f64>().sqrt()
}
