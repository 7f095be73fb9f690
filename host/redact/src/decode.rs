//! Decoding of single characters, in any of their encodings.

/// The longest encoding of a character, in bytes: `&#x10ffff;` with leading zeros, or a `\u` surrogate pair.
const MAX_ENCODED: usize = 12;

/// The first unit of a byte string.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A byte, and the length of its encoding.
    Byte(u8, usize),
    /// A character, and the length of its encoding.
    Char(char, usize),
    /// Incomplete: more bytes are needed.
    Unknown,
}

/// Whether a byte may begin an encoded character.
pub(super) fn begins_spelling(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&')
}

/// Decodes the first unit of `bytes`, which must not be empty: percent-encoding, escapes of JSON, JavaScript, C and
/// Rust, and HTML character references. Any other byte is returned as it is.
pub(super) fn unit(bytes: &[u8], is_end: bool) -> Unit {
    let Some((&first, rest)) = bytes.split_first() else { return Unit::Unknown };
    let found = match first {
        b'%' => hex(rest, 2, 2).map(|(value, length)| byte(value, 1 + length)),
        b'\\' => escape(rest),
        b'&' => reference(rest, is_end),
        _ => Decoded::Nothing,
    };
    match found {
        Decoded::Unit(unit) => unit,
        Decoded::Cut if !is_end && bytes.len() < MAX_ENCODED => Unit::Unknown,
        Decoded::Cut | Decoded::Nothing => Unit::Byte(first, 1),
    }
}

enum Decoded<T = Unit> {
    Unit(T),
    Nothing,
    /// A valid prefix that the end of the input cuts off.
    Cut,
}

impl<T> Decoded<T> {
    fn map(self, change: impl FnOnce(T) -> Option<Unit>) -> Decoded {
        match self {
            Decoded::Unit(unit) => change(unit).map_or(Decoded::Nothing, Decoded::Unit),
            Decoded::Nothing => Decoded::Nothing,
            Decoded::Cut => Decoded::Cut,
        }
    }
}

fn byte(value: u32, length: usize) -> Option<Unit> {
    u8::try_from(value).ok().map(|value| Unit::Byte(value, length))
}

/// Parses `least` to `most` hexadecimal digits; returns their value and their number.
fn hex(bytes: &[u8], least: usize, most: usize) -> Decoded<(u32, usize)> {
    let digits = bytes.iter().take(most).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits == bytes.len() && digits < most {
        return Decoded::Cut;
    }
    let text = bytes.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok());
    match text.and_then(|text| u32::from_str_radix(text, 16).ok()) {
        Some(value) if digits >= least => Decoded::Unit((value, digits)),
        _ => Decoded::Nothing,
    }
}

/// Decodes the rest of an escape after the backslash.
fn escape(rest: &[u8]) -> Decoded {
    let Some((&kind, rest)) = rest.split_first() else { return Decoded::Cut };
    let plain = match kind {
        b'"' | b'\\' | b'/' | b'\'' => kind,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'x' => return hex(rest, 2, 2).map(|(value, length)| byte(value, 2 + length)),
        b'u' => return unicode(rest),
        _ => return Decoded::Nothing,
    };
    Decoded::Unit(Unit::Byte(plain, 2))
}

/// Decodes the rest of an escape after `\u`: four digits, a surrogate pair, or digits in braces.
fn unicode(rest: &[u8]) -> Decoded {
    if let Some(braced) = rest.strip_prefix(b"{") {
        return match hex(braced, 1, 6) {
            Decoded::Unit((value, digits)) => match braced.get(digits) {
                Some(b'}') => char(value, 4 + digits),
                Some(_) => Decoded::Nothing,
                None => Decoded::Cut,
            },
            other => other.map(|_| None),
        };
    }
    let first = match hex(rest, 4, 4) {
        Decoded::Unit((value, _)) => value,
        other => return other.map(|_| None),
    };
    if !(0xd800..0xdc00).contains(&first) {
        return char(first, 6);
    }
    let behind = rest.get(4..).unwrap_or_default();
    match behind {
        [b'\\', b'u', low @ ..] => match hex(low, 4, 4) {
            Decoded::Unit((low @ 0xdc00..0xe000, _)) => char(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00), 12),
            Decoded::Cut => Decoded::Cut,
            _ => Decoded::Nothing,
        },
        [] | [b'\\'] => Decoded::Cut,
        _ => Decoded::Nothing,
    }
}

/// Decodes the rest of a character reference after `&`.
fn reference(rest: &[u8], is_end: bool) -> Decoded {
    const NAMES: [(&[u8], char); 6] =
        [(b"amp;", '&'), (b"lt;", '<'), (b"gt;", '>'), (b"quot;", '"'), (b"apos;", '\''), (b"nbsp;", '\u{a0}')];
    let Some((&first, digits)) = rest.split_first() else { return Decoded::Cut };
    if first != b'#' {
        let found = NAMES.iter().find(|(name, _)| rest.starts_with(name));
        return match found {
            Some((name, character)) => char(u32::from(*character), 1 + name.len()),
            None if NAMES.iter().any(|(name, _)| name.starts_with(rest)) => Decoded::Cut,
            None => Decoded::Nothing,
        };
    }
    let (digits, before, radix) = match digits.split_first() {
        Some((b'x' | b'X', digits)) => (digits, 3, 16),
        Some(_) => (digits, 2, 10),
        None => return Decoded::Cut,
    };
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let count = digits.iter().take(MAX_ENCODED).take_while(is_digit).count();
    let text = digits.get(..count).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default();
    match (digits.get(count), u32::from_str_radix(text, radix)) {
        (None, _) if !is_end => Decoded::Cut,
        // Browsers accept a reference without its semicolon.
        (next, Ok(value)) => char(value, before + count + usize::from(next == Some(&b';'))),
        _ => Decoded::Nothing,
    }
}

fn char(value: u32, length: usize) -> Decoded {
    match char::from_u32(value) {
        Some(found) if found.is_ascii() => Decoded::Unit(Unit::Byte(found as u8, length)),
        Some(found) => Decoded::Unit(Unit::Char(found, length)),
        None => Decoded::Nothing,
    }
}
