//! The names, texts and literals of a JSON document, with their places. Nothing is parsed into a tree, and a document
//! that is no JSON has fewer leaves.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

/// What a leaf is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LeafKind {
    /// The name of a member.
    Name,
    /// A text.
    Text,
    /// A number, `true`, `false` or `null`.
    Literal,
}

/// A leaf of a document.
#[derive(Debug, Clone)]
pub(crate) struct Leaf<'a> {
    /// The names and numbers that lead to it, joined by dots.
    pub(crate) path: String,
    pub(crate) kind: LeafKind,
    /// Where it stands, without its quotation marks.
    pub(crate) range: Range<usize>,
    /// What it says.
    pub(crate) text: Cow<'a, str>,
}

/// What a container is at a place of the document.
enum Container {
    /// The path up to it, and the name of the member that was read last; none: the next text is a name.
    Object(usize, Option<()>),
    /// The path up to it, and the number of the next item.
    Array(usize, usize),
}

/// All leaves, in their order.
pub(crate) fn leaves(document: &str) -> Vec<Leaf<'_>> {
    let bytes = document.as_bytes();
    let (mut found, mut path, mut open, mut at) = (Vec::new(), String::new(), Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                enter(&mut path, &mut open);
                let base = path.len();
                open.push(match byte {
                    b'{' => Container::Object(base, None),
                    _ => Container::Array(base, 0),
                });
                at += 1;
            }
            b'}' | b']' => {
                open.pop();
                leave(&mut path, &open);
                at += 1;
            }
            b',' => {
                if let Some(Container::Object(_, name)) = open.last_mut() {
                    *name = None;
                }
                leave(&mut path, &open);
                at += 1;
            }
            b'"' => {
                let range = at + 1..end_of_text(bytes, at + 1);
                let text = decoded(&document[range.clone()]);
                let is_name = matches!(open.last(), Some(Container::Object(_, None)));
                if is_name {
                    leave(&mut path, &open);
                    push(&mut path, &text);
                    if let Some(Container::Object(_, name)) = open.last_mut() {
                        *name = Some(());
                    }
                } else {
                    enter(&mut path, &mut open);
                }
                at = range.end + 1;
                let kind = if is_name { LeafKind::Name } else { LeafKind::Text };
                found.push(Leaf { path: path.clone(), kind, range, text });
            }
            b' ' | b'\t' | b'\r' | b'\n' | b':' => at += 1,
            _ => {
                let is_end = |byte: &u8| b" \t\r\n:,[]{}\"".contains(byte);
                let end = bytes[at..].iter().position(is_end).map_or(bytes.len(), |length| at + length);
                enter(&mut path, &mut open);
                let text = Cow::Borrowed(&document[at..end]);
                found.push(Leaf { path: path.clone(), kind: LeafKind::Literal, range: at..end, text });
                at = end;
            }
        }
    }
    found
}

/// A value begins: an item of an array gets its number.
fn enter(path: &mut String, open: &mut [Container]) {
    if let Some(Container::Array(base, next)) = open.last_mut() {
        path.truncate(*base);
        let separator = if path.is_empty() { "" } else { "." };
        // Writing to a `String` does not fail.
        let _ = write!(path, "{separator}{next}");
        *next += 1;
    }
}

/// The path of the innermost container.
fn leave(path: &mut String, open: &[Container]) {
    match open.last() {
        Some(Container::Object(base, _) | Container::Array(base, _)) => path.truncate(*base),
        None => path.clear(),
    }
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Where the text ends that begins there: at its quotation mark, or with the document.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A text as it is meant.
fn decoded(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    units(raw, |_, unit| text.push_str(unit));
    Cow::Owned(text)
}

/// Where each place of the decoded text stands in the raw text: `places` in ascending order.
pub(crate) fn raw_places(raw: &str, places: &[usize]) -> Vec<usize> {
    if !raw.contains('\\') {
        return places.iter().map(|place| (*place).min(raw.len())).collect();
    }
    let (mut found, mut decoded, mut written) = (Vec::with_capacity(places.len()), 0, 0);
    units(raw, |length, unit| {
        while places.get(found.len()).is_some_and(|place| *place <= decoded) {
            found.push(written);
        }
        // Inside of what is one unit there is no place: a place there is the unit's end.
        decoded += unit.len();
        written += length;
    });
    found.resize(places.len(), raw.len());
    found
}

/// Calls `each` with the raw length and the meaning of every escape, and of every run without one.
fn units(raw: &str, mut each: impl FnMut(usize, &str)) {
    let mut rest = raw;
    while !rest.is_empty() {
        let Some(escape) = rest.strip_prefix('\\') else {
            // Character by character, so that a place within a run is found.
            let length = rest.chars().next().map_or(rest.len(), char::len_utf8);
            each(length, &rest[..length]);
            rest = &rest[length..];
            continue;
        };
        let (length, meant) = unescaped(escape);
        let mut buffer = [0; 4];
        let length = (length + 1).min(rest.len());
        each(length, meant.encode_utf8(&mut buffer));
        rest = &rest[length..];
    }
}

/// The length and the meaning of what follows a backslash. What means nothing stands for itself.
fn unescaped(escape: &str) -> (usize, char) {
    let Some(first) = escape.chars().next() else { return (0, '\\') };
    let meant = match first {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => return unicode(escape),
        other => return (other.len_utf8(), other),
    };
    (1, meant)
}

fn unicode(escape: &str) -> (usize, char) {
    let unit = |text: Option<&str>| text.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(high) = unit(escape.get(1..5)) else { return (1, 'u') };
    if let 0xd800..=0xdbff = high
        && escape.get(5..7) == Some("\\u")
        && let Some(low @ 0xdc00..=0xdfff) = unit(escape.get(7..11))
    {
        let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return (11, char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    (5, char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
}
