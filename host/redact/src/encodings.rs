//! Encodings in which servers, programs and models may repeat a secret.
//!
//! The matcher decodes percent-encoding, escapes and character references itself, and ignores the case of ASCII
//! letters. This module adds encodings of the whole value (Base64, hexadecimal, reversed), and encoded forms that
//! decoding would change because the value itself contains `%`, `\\` or `&`.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Characters that need no encoding in a URL.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A colon is allowed in a path or query. Some servers do not decode it (Telegram's tokens contain one).
const UNRESERVED_AND_COLON: &AsciiSet = &UNRESERVED.remove(b':');

/// The minimum length of a form: shorter ones occur in ordinary text.
const MIN_FORM: usize = 6;

/// Percent-encodes `value` for a path segment or a query parameter.
pub fn url_encode(value: &[u8]) -> String {
    percent_encode(value, UNRESERVED_AND_COLON).to_string()
}

/// All forms of `value`, the longest first: raw, percent-encoded, JSON-escaped, hexadecimal, reversed, in other cases,
/// and Base64 at each of the three alignments within a longer text.
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
        // For letters beyond ASCII, whose case the matcher does not ignore.
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

/// Two lower-case digits per byte.
fn hex(value: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value & 15)).copied().unwrap_or(b'0');
    value.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// Sorts by length, longest first, and removes duplicates.
pub fn sort_longest_first<T: AsRef<[u8]> + Ord>(forms: &mut Vec<T>) {
    forms.sort_by(|a, b| b.as_ref().len().cmp(&a.as_ref().len()).then_with(|| a.cmp(b)));
    forms.dedup();
}

/// The Base64 characters that are the same in every text that has `value` at this alignment, `before` bytes after a
/// multiple of three.
fn base64(engine: &impl Engine, value: &[u8], before: usize) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let mut encoded = engine.encode(&bytes).into_bytes();
    // A character encodes six bits: the first ones may mix with the preceding bytes, the last one with the following
    // bytes.
    if !bytes.len().is_multiple_of(3) {
        encoded.pop();
    }
    let shared = (before * 8).div_ceil(6).min(encoded.len());
    encoded.split_off(shared)
}

/// Percent-encoding with lower-case digits: `%2F` becomes `%2f`.
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
