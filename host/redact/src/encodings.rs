//! Encodings in which servers, programs and models may repeat a secret.
//!
//! Percent-encoding, escapes and references are undone where a text is read, whichever characters they stand for, and the
//! case of ASCII letters is nothing there. What is made here are the encodings of the whole value, and those spellings that
//! undoing would take for something else: of a value that holds `%`, `\\` or `&` itself.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// What never needs to be encoded in a URL.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// In a path or a query a colon means itself. Some servers (Telegram's tokens hold one) do not decode it.
const UNRESERVED_AND_COLON: &AsciiSet = &UNRESERVED.remove(b':');

/// A piece of a spelling that is shorter is no longer told from other text.
const MIN_FORM: usize = 6;

/// `value` as it is written into a path or a query: all that could end a segment or a parameter is encoded.
pub fn url_encode(value: &[u8]) -> String {
    percent_encode(value, UNRESERVED_AND_COLON).to_string()
}

/// `value` as it is, percent-encoded, in JSON, in hexadecimal, reversed, in another case, and in Base64 at each of the three
/// places where it can begin in a longer text. The longest come first.
pub fn all(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for encoded in [url_encode(value), percent_encode(value, UNRESERVED).to_string()] {
        forms.push(lower_hex(&encoded).into_bytes());
        forms.push(encoded.replace("%20", "+").into_bytes());
        forms.push(encoded.into_bytes());
    }
    if let Ok(text) = std::str::from_utf8(value) {
        let quoted = serde_json::Value::from(text).to_string();
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted);
        forms.push(inner.replace('/', "\\/").into_bytes());
        forms.push(inner.as_bytes().to_vec());
        forms.push(text.chars().rev().collect::<String>().into_bytes());
        // Of letters beyond ASCII: there a text is not read in one case.
        forms.push(text.to_lowercase().into_bytes());
        forms.push(text.to_uppercase().into_bytes());
    } else {
        forms.push(value.iter().rev().copied().collect());
    }
    forms.push(hex(value));
    for before in 0..3 {
        forms.push(base64(&STANDARD_NO_PAD, value, before));
        forms.push(base64(&URL_SAFE_NO_PAD, value, before));
    }
    forms.push(STANDARD_NO_PAD.encode(value).into_bytes());
    forms.push(URL_SAFE_NO_PAD.encode(value).into_bytes());
    forms.retain(|form| form.len() >= MIN_FORM);
    sort_longest_first(&mut forms);
    forms
}

/// Two digits a byte, in lower case.
fn hex(value: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value & 15)).copied().unwrap_or(b'0');
    value.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Sorts so that a form that holds another stands before it, each once.
pub fn sort_longest_first<T: AsRef<[u8]> + Ord>(forms: &mut Vec<T>) {
    forms.sort_by(|a, b| b.as_ref().len().cmp(&a.as_ref().len()).then_with(|| a.cmp(b)));
    forms.dedup();
}

/// What is the same in the Base64 of every text that has `value` behind a multiple of three bytes and `before` more.
fn base64(engine: &impl Engine, value: &[u8], before: usize) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let mut encoded = engine.encode(&bytes).into_bytes();
    // A character holds six bits: the first ones also hold bits of what precedes, the last one of what follows.
    if !bytes.len().is_multiple_of(3) {
        encoded.pop();
    }
    let shared = (before * 8).div_ceil(6).min(encoded.len());
    encoded.split_off(shared)
}

/// `%2F` as `%2f`.
fn lower_hex(encoded: &str) -> String {
    let mut left = 0_usize;
    encoded
        .chars()
        .map(|c| {
            let in_escape = left > 0;
            left = if c == '%' { 2 } else { left.saturating_sub(usize::from(in_escape)) };
            if in_escape { c.to_ascii_lowercase() } else { c }
        })
        .collect()
}
