//! Untrusted text on one line, with nothing left out: characters that a terminal would interpret are escaped.

use super::Invisible;

/// Whether a terminal would interpret the character: control characters, and those that change the direction of text or end
/// a line.
fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The text on one line, with control characters and invisible ones escaped, except for joiners of emoji and scripts, and
/// marks on letters.
pub fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut invisible = Invisible::default();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let shows = invisible.shows(character, characters.peek().copied());
        match character {
            '\n' | '\t' => line.push(' '),
            character if is_obeyed(character) || !shows => line.extend(character.escape_unicode()),
            character => line.push(character),
        }
    }
    line
}

/// JSON with control characters escaped. It is equivalent, because they occur in strings only.
pub fn json_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut invisible = Invisible::default();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let shows = invisible.shows(character, characters.peek().copied());
        match is_obeyed(character) || !shows {
            true => {
                character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| line.push_str(&format!("\\u{unit:04x}")))
            }
            false => line.push(character),
        }
    }
    line
}
