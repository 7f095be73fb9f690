//! The words of a JSON text's strings.

/// A word of an entry, folded.
#[derive(Clone, Copy)]
struct Token {
    start: usize,
    end: usize,
    letters: usize,
    set: u64,
}

/// The words of the strings of one JSON text. Reused to save allocations.
#[derive(Default)]
pub(super) struct Tokens {
    folded: String,
    tokens: Vec<Token>,
}

/// The minimum length of a word that matches one of four letters.
const SHORTEST: usize = 3;

impl Tokens {
    /// Replaces the content by the words of the strings of `json`, which must be [`plain`](super::spelling::plain).
    /// Keys are skipped.
    pub(super) fn fill(&mut self, json: &str) {
        self.folded.clear();
        self.tokens.clear();
        for string in (Strings { rest: json }) {
            self.cut(string);
        }
    }

    /// Words that may be within `edits` edits of a word with `letters` letters from this set; a superset.
    pub(super) fn near(&self, letters: usize, set: u64, edits: usize) -> impl Iterator<Item = &str> {
        let near = move |token: &&Token| {
            token.letters.abs_diff(letters) <= edits && (token.set ^ set).count_ones() as usize <= 2 * edits
        };
        self.tokens.iter().filter(near).filter_map(|token| self.folded.get(token.start..token.end))
    }

    /// Adds the words of one JSON string's content.
    fn cut(&mut self, string: &str) {
        let mut token = self.begin();
        let mut characters = string.chars();
        while let Some(character) = characters.next() {
            if is_letter(character) {
                let character = fold(character);
                self.folded.push(character);
                token.letters += 1;
                token.set |= bit(character);
                continue;
            }
            self.end(token);
            token = self.begin();
            if character == '\\' && characters.next() == Some('u') {
                // The rest of an escaped control character.
                characters.nth(3);
            }
        }
        self.end(token);
    }

    fn begin(&self) -> Token {
        Token { start: self.folded.len(), end: 0, letters: 0, set: 0 }
    }

    fn end(&mut self, token: Token) {
        if token.letters >= SHORTEST {
            self.tokens.push(Token { end: self.folded.len(), ..token });
        } else {
            self.folded.truncate(token.start);
        }
    }
}

/// The contents of the strings of a JSON text that are not keys, verbatim.
struct Strings<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let begin = memchr::memchr(b'"', self.rest.as_bytes())?;
            let inside = self.rest.get(begin + 1..)?;
            let mut end = 0;
            loop {
                let bytes = inside.as_bytes().get(end..)?;
                end += memchr::memchr2(b'"', b'\\', bytes)?;
                match inside.as_bytes().get(end) {
                    Some(b'"') => break,
                    _ => end += 2,
                }
            }
            self.rest = inside.get(end + 1..)?;
            let is_key = self.rest.trim_start().starts_with(':');
            if !is_key {
                return inside.get(..end);
            }
        }
    }
}

/// Whether it is part of words. Scripts without spaces are excluded, since their words cannot be separated.
pub(super) fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    // Combining accents and the signs of Indian scripts except full stops: not letters to Unicode, but part of a word.
    let joins = matches!(character, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{dff}');
    joins || character.is_alphanumeric() && !has_no_spaces(character)
}

/// Thai, Lao, Tibetan, Burmese, Khmer; Chinese and Japanese with their extensions.
fn has_no_spaces(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}' | '\u{aa60}'..='\u{aa7f}'
        | '\u{2e80}'..='\u{312f}' | '\u{3190}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

/// One letter for upper and lower case.
pub(super) fn fold(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => character,
    }
}

/// The letter's bit in a set of letters; some letters share one.
pub(super) fn bit(folded: char) -> u64 {
    1 << (u32::from(folded) % 64)
}
