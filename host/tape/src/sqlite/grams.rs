//! What of a text the index of the search holds: the short pieces that any word can be put together from again.
//!
//! SQLite's own trigrams find nothing shorter than three characters, and most Chinese words have two. So the grams are
//! made here: every three characters that stand behind each other, and where they are not ASCII, every two and every
//! single one. Upper and lower case are alike. They reach SQLite as words, in letters that its tokenizer leaves alone.
//!
//! The index says which entries may hold a word; whether they do is said by the
//! [`Collector`](super::super::search::Collector). So a gram too many costs a look, and one that is missing loses a hit.

use std::borrow::Cow;

use super::super::entry::Entry;
use super::super::json;
use super::super::media::without_data;

/// How many grams of one word are asked for. More cost more than they leave out.
const MAX_WORD_GRAMS: usize = 12;

/// How many of all words.
const MAX_TERMS: usize = 64;

/// The grams of all that a search looks at in an entry.
pub(super) fn from_entry(entry: &Entry) -> String {
    let mut grams = Grams::default();
    grams.add(&json::quote(&entry.kind));
    grams.add(&json::quote(&entry.date));
    let payload = if entry.is("message") { without_data(&entry.payload) } else { Cow::Borrowed(&*entry.payload) };
    for text in [&*payload, &*entry.meta] {
        if text != "{}" {
            grams.add(text);
        }
        // Another program may have escaped what is looked for as it is.
        if (text.contains("\\u") || text.contains("\\/"))
            && let Ok(text) = json::reprint(text)
        {
            grams.add(&text);
        }
    }
    grams.words()
}

/// The expression of FTS5 for entries that may hold all words of the text. `None` when no word has a gram.
pub(super) fn expression(text: &str) -> Option<String> {
    let mut terms: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let quoted = json::quote(word);
        let inside = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
        let letters: Vec<char> = inside.chars().map(fold).collect();
        let size = letters.len().min(3);
        if size < 3 && letters.iter().all(char::is_ascii) {
            continue;
        }
        let windows = letters.windows(size);
        let step = windows.len().div_ceil(MAX_WORD_GRAMS);
        for gram in windows.step_by(step) {
            let term: String = gram.iter().copied().map(spelled).collect();
            if !terms.contains(&term) && terms.len() < MAX_TERMS {
                terms.push(term);
            }
        }
    }
    // No term holds a quote: what is ASCII is spelled otherwise.
    let quoted: Vec<String> = terms.iter().map(|term| format!("\"{term}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" AND "))
}

/// Grams, each as a number that is made of its letters.
#[derive(Default)]
struct Grams {
    grams: Vec<u64>,
}

/// How many bits a letter has.
const LETTER: u32 = 21;

impl Grams {
    fn add(&mut self, text: &str) {
        let (mut first, mut second): (Option<char>, Option<char>) = (None, None);
        for letter in text.chars().map(fold) {
            if !letter.is_ascii() {
                self.grams.push(u64::from(letter));
            }
            if let Some(second) = second {
                if !letter.is_ascii() || !char::is_ascii(&second) {
                    self.grams.push(u64::from(second) << LETTER | u64::from(letter));
                }
                if let Some(first) = first {
                    self.grams.push(u64::from(first) << (2 * LETTER) | u64::from(second) << LETTER | u64::from(letter));
                }
            }
            (first, second) = (second, Some(letter));
        }
    }

    /// The grams as words with spaces between them, each once.
    fn words(mut self) -> String {
        self.grams.sort_unstable();
        self.grams.dedup();
        let mut words = String::with_capacity(self.grams.len() * 8);
        for gram in self.grams {
            let letters = [2, 1, 0].map(|place| gram >> (place * LETTER) & ((1 << LETTER) - 1));
            // No JSON text has the letter 0, so what is 0 is not there.
            let letters = letters.into_iter().filter(|letter| *letter != 0);
            words.extend(letters.filter_map(|letter| char::from_u32(letter as u32)).map(spelled));
            words.push(' ');
        }
        words
    }
}

/// To SQLite's `ascii` tokenizer a word is what is not ASCII. Syriac shares its letters with ASCII, which costs its
/// searches a look more.
fn spelled(letter: char) -> char {
    match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii() => char::from_u32(0x700 + u32::from(byte)).unwrap_or(letter),
        _ => letter,
    }
}

/// One letter for all that are alike but for their case, and at times for a few more.
fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    // By way of the upper case: `ſ` and `s` have the same, and so have the two small sigmas. These three have one of
    // several letters.
    match letter {
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ => {
            let upper = single(letter.to_uppercase()).unwrap_or(letter);
            single(upper.to_lowercase()).unwrap_or(upper)
        }
    }
}

fn single(mut letters: impl Iterator<Item = char>) -> Option<char> {
    letters.next().filter(|_| letters.next().is_none())
}
