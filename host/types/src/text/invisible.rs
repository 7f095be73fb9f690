//! Invisible characters: which of them belong to the text around them, and which may hide something.

use unicode_width::UnicodeWidthChar;

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';

/// Maximum marks that are shown on one letter: no script needs more, and more could hide text.
const MAX_MARKS: usize = 8;

/// Decides for each character of a text, in order, whether it is shown.
#[derive(Default)]
pub struct Invisible {
    before: Option<char>,
    /// Marks since the last character that takes a column.
    marks: usize,
    /// Whether that character begins the flag of a region, which is spelled with tag characters.
    is_flag: bool,
}

impl Invisible {
    /// Whether `character`, which no terminal interprets, is shown when `next` follows. A joiner is shown only between
    /// two characters that it joins: elsewhere it would make two different texts look the same.
    pub fn shows(&mut self, character: char, next: Option<char>) -> bool {
        let shows = match character {
            JOINER => self.joins(next, |before, next| {
                (is_joined(before) && is_joined(next)) || (ends_emoji(before) && is_emoji(next))
            }),
            NON_JOINER => self.joins(next, |before, next| is_joined(before) && is_joined(next)),
            '\u{e0001}'..='\u{e007f}' => self.is_flag && self.marks < MAX_MARKS,
            // Soft hyphens and fillers: invisible where they are not part of a cluster.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' => false,
            _ if character.width() == Some(0) => self.before.is_some() && self.marks < MAX_MARKS,
            _ => true,
        };
        match character.width() {
            Some(0) | None => self.marks += 1,
            Some(_) => {
                self.marks = 0;
                self.is_flag = character == '\u{1f3f4}';
            }
        }
        self.before = Some(character);
        shows
    }

    fn joins(&self, next: Option<char>, fits: impl Fn(char, char) -> bool) -> bool {
        self.before.zip(next).is_some_and(|(before, next)| fits(before, next))
    }
}

/// Whether it is a letter or mark of a script that uses joiners: Arabic, Syriac, N'Ko and Mandaic, those of India,
/// Sinhala, Tibetan, Burmese, Khmer, Mongolian, Balinese, Javanese.
fn is_joined(character: char) -> bool {
    matches!(character,
        '\u{620}'..='\u{65f}' | '\u{66e}'..='\u{6d3}' | '\u{6d5}'..='\u{6dc}' | '\u{6fa}'..='\u{86f}'
        | '\u{8a0}'..='\u{dff}' | '\u{f40}'..='\u{fbc}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17d3}'
        | '\u{1820}'..='\u{18aa}' | '\u{1b00}'..='\u{1b4b}' | '\u{a980}'..='\u{a9c0}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Whether it may begin an emoji.
fn is_emoji(character: char) -> bool {
    matches!(character,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
        | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}

/// Whether an emoji may end with it: itself, a variation selector, or a skin tone.
fn ends_emoji(character: char) -> bool {
    is_emoji(character) || matches!(character, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}
