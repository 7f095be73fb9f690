//! JSON as Bub's Python reads and prints it.
//!
//! Tapes must reach the model unchanged: integers of any length, `NaN`, keys that occur twice, floats with Python's
//! digits. So JSON enters and leaves this program as text and is never turned into a tree; the functions here check it,
//! cut it into pieces and print it again.

mod bounds;
mod float;
mod scan;

use super::error::Result;
pub use bounds::Bounds;
use scan::{Out, Scanner};

/// How deep JSON may be nested that enters this program.
pub const DEPTH: usize = 64;

/// How deep JSON may be nested that is only read. More than [`DEPTH`]: a line wraps its payload, and a tape that
/// another program wrote is not lost for being deep.
const READ_DEPTH: usize = 256;

/// Prints a JSON text as Python's `json.dumps(value, ensure_ascii=False)` does: `", "` and `": "` between things,
/// characters literal, floats with the fewest digits that give them back. Integers stay as they are written (`-0` is `0`), a key that
/// occurs twice occurs twice, and half of a surrogate pair stays an escape.
///
/// # Errors
///
/// [`InvalidInput`](super::Error::InvalidInput) when the text is no JSON, or nested deeper than [`DEPTH`].
pub fn normalise(text: &str) -> Result<String> {
    print(text, DEPTH)
}

/// [`normalise`] for a piece of a line that was read.
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

/// The members of an object in their order: each key decoded, each value as it is written.
///
/// # Errors
///
/// [`InvalidInput`](super::Error::InvalidInput) when the text is no JSON object.
pub fn fields(object: &str) -> Result<Vec<(String, &str)>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(object, READ_DEPTH);
    scanner.object(&mut Out::Nowhere, &mut |key, value| {
        found.push((string(key).unwrap_or_default(), value));
    })?;
    scanner.end()?;
    Ok(found)
}

/// The items of an array, each as it is written.
///
/// # Errors
///
/// [`InvalidInput`](super::Error::InvalidInput) when the text is no JSON array.
pub fn elements(array: &str) -> Result<Vec<&str>> {
    let mut found = Vec::new();
    let mut scanner = Scanner::new(array, READ_DEPTH);
    scanner.array(&mut Out::Nowhere, &mut |item| found.push(item))?;
    scanner.end()?;
    Ok(found)
}

/// The value of `key`, as it is written. The last one wins where a key occurs twice, as in Python.
pub fn get<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let [found] = pick(object, [key]);
    found
}

/// The values of several keys, in one look; each as in [`get`].
pub fn pick<'a, const N: usize>(object: &'a str, keys: [&str; N]) -> [Option<&'a str>; N] {
    let mut found = [None; N];
    // Reading costs more than looking, and most of what is asked for is not there. An escape may stand for any letter.
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

/// Whether a JSON string stands for that key. Nearly none has an escape in it, and then nothing has to be decoded.
fn is_written(written: &str, key: &str) -> bool {
    match written.contains('\\') {
        false => written.get(1..written.len().saturating_sub(1)) == Some(key),
        true => string(written).as_deref() == Some(key),
    }
}

/// The text that a JSON string stands for; `None` when it is no string. Half of a surrogate pair, which no text can
/// hold, becomes U+FFFD.
pub fn string(value: &str) -> Option<String> {
    // Most are what they stand for.
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
    // A line in eight or so has an end that is escaped.
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
