//! Escaping, clipping and formatting of text for terminals, logs and messages.

mod invisible;
mod line;

pub use invisible::Invisible;
pub use line::{json_line, line};

/// Maximum bytes of a text that are processed. A guest may pass megabytes.
const LOOKED_AT: usize = 64 << 10;

/// A message of the operating system without its capital letter and its error number.
pub fn plain(text: &str) -> String {
    let text = text.split(" (os error").next().unwrap_or(text);
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

/// Bytes as hexadecimal digits, in lower case.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]].map(char::from);
    bytes.iter().flat_map(digits).collect()
}

/// A number with its noun in singular or plural.
pub fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// A number with thousands separators.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes with a unit.
pub fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if size < 1000.0 {
            let digits = usize::from(unit != "B" && size < 9.95);
            return format!("{size:.digits$} {unit}");
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

/// The innermost source of a connection error. The outer ones contain the URL with its query.
pub fn cause<E: std::error::Error + 'static>(error: &E) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    match inner.downcast_ref::<E>() {
        // Its own text contains the address, and it has no source.
        Some(_) => "the connection failed".to_owned(),
        None => plain(&inner.to_string()),
    }
}

/// Escapes control characters, other than line ends and tabs, and characters that change the text direction.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.extend(character.escape_unicode()),
            control if control.is_control() => shown.extend(control.escape_unicode()),
            other => shown.push(other),
        }
    }
    shown
}

/// Whether a terminal would interpret the character instead of showing it: control characters, and those that change
/// the text direction. Joiners are kept: some scripts need them.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Removes invisible characters that do not belong to the text around them.
fn visible(text: &str) -> String {
    let mut invisible = Invisible::default();
    let mut characters = text.chars().peekable();
    let mut visible = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        if invisible.shows(character, characters.peek().copied()) {
            visible.push(character);
        }
    }
    visible
}

/// Untrusted text on one line, for a terminal or a log. Only the beginning of a long text is used.
pub fn one_line(text: &str) -> String {
    let begun = visible(&text[..text.floor_char_boundary(LOOKED_AT)]);
    let parts = begun.split(is_obeyed).map(str::trim).filter(|part| !part.is_empty());
    let mut line = parts.collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(2000) {
        line.truncate(cut);
    }
    line
}

/// The beginning of a text, at most `max` characters, with `…` behind it if there was more.
pub fn clipped(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The marks of a block of code in Markdown that the text cannot end.
pub fn fence(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

/// A refused name or value, to be quoted in a message: its first `max` characters, with control characters, quotes and
/// backslashes escaped.
pub fn escaped(text: &str, max: usize) -> String {
    text.chars().take(max).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::{clipped, escaped};

    #[test]
    fn a_text_is_cut_between_characters_and_marked() {
        assert_eq!(clipped("äöü", 3), "äöü");
        assert_eq!(clipped("äöüß", 3), "äöü…");
        assert_eq!(clipped("", 0), "");
    }

    #[test]
    fn a_quoted_value_stays_on_its_line() {
        assert_eq!(escaped("a\nb\u{1b}[0m\u{202e}`\"", 64), r#"a\nb\u{1b}[0m\u{202e}`\""#);
        assert_eq!(escaped("\n\n\n", 2), r"\n\n");
    }
}
