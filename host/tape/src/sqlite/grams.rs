//! N-grams of the full-text index.
//!
//! SQLite's own trigram tokenizer finds no words under three characters, but most Chinese words have two. So n-grams
//! are made here: all trigrams, and outside ASCII all bigrams and single characters too, ignoring case. They are passed
//! to SQLite as words, in letters that its tokenizer keeps.
//!
//! The index returns candidates; the [`Collector`](super::super::search::Collector) checks each. So a surplus gram only
//! costs time, but a missing one loses a hit.

use std::borrow::Cow;

use super::super::entry::Entry;
use super::super::json;
use super::super::media::without_data;

/// Maximum grams per word in a query. More cost more than they exclude.
const MAX_WORD_GRAMS: usize = 12;

/// Maximum grams of all words.
const MAX_TERMS: usize = 64;

/// The grams of an entry's searched fields.
pub(super) fn from_entry(entry: &Entry) -> String {
    let mut grams = Grams::default();
    grams.add(&json::quote(&entry.kind));
    grams.add(&json::quote(&entry.date));
    let payload = if entry.is("message") { without_data(&entry.payload) } else { Cow::Borrowed(&*entry.payload) };
    for text in [&*payload, &*entry.meta] {
        if text != "{}" {
            grams.add(text);
        }
        // Another program may have escaped searchable characters.
        if (text.contains("\\u") || text.contains("\\/"))
            && let Ok(text) = json::reprint(text)
        {
            grams.add(&text);
        }
    }
    grams.words()
}

/// The FTS5 expression for entries that may contain all words of the text. `None` if no word has a gram.
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
    // No term contains a quote: ASCII is mapped to other letters.
    let quoted: Vec<String> = terms.iter().map(|term| format!("\"{term}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" AND "))
}

/// Grams as numbers composed of their letters.
#[derive(Default)]
struct Grams {
    grams: Vec<u64>,
}

/// Bits per letter.
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

    /// The grams as words separated by spaces, without duplicates.
    fn words(mut self) -> String {
        self.grams.sort_unstable();
        self.grams.dedup();
        let mut words = String::with_capacity(self.grams.len() * 8);
        for gram in self.grams {
            let letters = [2, 1, 0].map(|place| gram >> (place * LETTER) & ((1 << LETTER) - 1));
            // Letter 0 does not occur in JSON and marks an absent one.
            let letters = letters.into_iter().filter(|letter| *letter != 0);
            words.extend(letters.filter_map(|letter| char::from_u32(letter as u32)).map(spelled));
            words.push(' ');
        }
        words
    }
}

/// SQLite's `ascii` tokenizer keeps all non-ASCII characters in words. ASCII is mapped to Syriac letters, so Syriac
/// searches have more false candidates.
fn spelled(letter: char) -> char {
    match u8::try_from(letter) {
        Ok(byte) if byte.is_ascii() => char::from_u32(0x700 + u32::from(byte)).unwrap_or(letter),
        _ => letter,
    }
}

/// Folds case; a few other letters may be merged too.
fn fold(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    // By upper case: `ſ` and `s` have the same, and so have both lower-case sigmas. These three letters have an
    // ambiguous case.
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
