//! JSON in the format of Bub's Python.
//!
//! Tapes must reach the model unchanged: integers of any length, `NaN`, duplicate keys, floats with Python's digits. So
//! JSON is handled as text and never parsed into a tree; these functions validate, split and reprint it.

mod bounds;
mod float;
mod scan;

use super::error::Result;
pub use bounds::Bounds;
use scan::{Out, Scanner};

/// Maximum nesting of JSON that is written.
pub const DEPTH: usize = 64;

/// Maximum nesting of JSON that is only read. More than [`DEPTH`]: a line wraps its payload, and tapes of other
/// programs stay readable.
const READ_DEPTH: usize = 256;

/// Prints a JSON text as Python's `json.dumps(value, ensure_ascii=False)` does: `", "` and `": "` as separators,
/// characters unescaped, floats with the fewest digits that restore them. Integers keep their digits (`-0` becomes
/// `0`), and duplicate keys and unpaired surrogates are kept.
///
/// # Errors
///
/// [`InvalidInput`](super::Error::InvalidInput) if the text is not JSON, or nested deeper than [`DEPTH`].
pub fn normalise(text: &str) -> Result<String> {
    print(text, DEPTH)
}

/// [`normalise`] for a part of a line that was read.
pub fn reprint(text: &str) -> Result<String> {
    print(text, READ_DEPTH)
}

fn print(text: &str, depth: usize) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut scanner = Scanner::new(text, depth);
    scanner.value(&mut Out::Json(&mut out))?;
    scanner.end()?;
    Ok(out)
}

/// The members of an object in order: each key decoded, each value verbatim.
///
/// # Errors
///
/// [`InvalidInput`](super::Error::InvalidInput) if the text is not a JSON object.
pub fn fields(object: &str) -> Result<Vec<(String, &str)>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(object, READ_DEPTH);
    scanner.object(&mut Out::Nowhere, &mut |key, value| {
        found.push((string(key).unwrap_or_default(), value));
    })?;
    scanner.end()?;
    Ok(found)
}

/// The items of an array, verbatim.
///
/// # Errors
///
/// [`InvalidInput`](super::Error::InvalidInput) if the text is not a JSON array.
pub fn elements(array: &str) -> Result<Vec<&str>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(array, READ_DEPTH);
    scanner.array(&mut Out::Nowhere, &mut |item| found.push(item))?;
    scanner.end()?;
    Ok(found)
}

/// The value of `key`, verbatim. The last one of duplicate keys wins, as in Python.
pub fn get<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let [found] = pick(object, [key]);
    found
}

/// The values of several keys in one pass; each as in [`get`].
pub fn pick<'a, const N: usize>(object: &'a str, keys: [&str; N]) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    // A substring search is cheaper than parsing, and most keys are absent. An escape may encode any letter.
    if !keys.iter().any(|key| object.contains(key)) && !object.contains('\\') {
        return found;
    }
    let mut scanner = Scanner::new(object, READ_DEPTH);
    let scanned = scanner.object(&mut Out::Nowhere, &mut |written, value| {
        if let Some(at) = keys.iter().position(|key| is_written(written, key)) {
            found[at] = Some(value);
        }
    });
    match scanned.and_then(|()| scanner.end()) {
        Ok(()) => found,
        Err(_) => [None; N],
    }
}

/// Whether a JSON string equals that key. Most have no escape and need no decoding.
fn is_written(written: &str, key: &str) -> bool {
    match written.contains('\\') {
        false => written.get(1..written.len().saturating_sub(1)) == Some(key),
        true => string(written).as_deref() == Some(key),
    }
}

/// Decodes a JSON string; `None` if it is not a string. An unpaired surrogate becomes U+FFFD.
pub fn string(value: &str) -> Option<String> {
    // Most strings have no escapes.
    if let Some(inside) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))
        && inside.bytes().all(scan::is_plain)
    {
        return Some(inside.to_owned());
    }
    let mut out = String::with_capacity(value.len());
    let mut scanner = Scanner::new(value, READ_DEPTH);
    scanner.string(&mut Out::Plain(&mut out)).ok()?;
    scanner.end().ok()?;
    Some(out)
}

/// `text` as a JSON string, with its quotation marks.
pub fn quote(text: &str) -> String {
    // About one line in eight has an escaped line end.
    let mut out = String::with_capacity(text.len() + text.len() / 8 + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !scan::is_plain(byte)) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut special = special.chars();
        special.next().into_iter().for_each(|character| scan::escape(character, &mut out));
        rest = special.as_str();
    }
    out.push_str(rest);
    out.push('"');
    out
}

/// Whether a value, known to be JSON, is an object.
pub fn is_object(value: &str) -> bool {
    value.trim_start().starts_with('{')
}
