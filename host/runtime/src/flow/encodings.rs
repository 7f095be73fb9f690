//! The ways in which a text may be written so that it does not look like itself.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;
use std::collections::HashSet;

/// How often a decoded text is decoded again.
const DEPTH: usize = 3;

/// Decoded texts that are made of one text. Ordinary text has few words that are long enough to be an encoding.
const MAX_FORMS: usize = 2048;

/// Bytes of all of them.
const MAX_BYTES: usize = 1 << 20;

/// The shortest run of letters that is taken for an encoding of something worth hiding: eight bytes in base64.
const MIN_BASE64: usize = 11;
/// The same in hex.
const MIN_HEX: usize = 16;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The text itself, and all that it may stand for: percent-encoded, base64 of both alphabets at any offset, hex, and all of
/// that again. Reversed is tried once. None: there are more ways to read it than are tried.
pub(super) fn decoded(text: &str) -> Option<Vec<String>> {
    let mut all = HashSet::from([text.to_owned(), text.chars().rev().collect()]);
    let (mut next, mut bytes) = (vec![text.to_owned()], 0);
    for _ in 0..DEPTH {
        let mut found = Vec::new();
        for form in next.iter().flat_map(|text| once(text)) {
            if all.insert(form.clone()) {
                bytes += form.len();
                found.push(form);
            }
            if all.len() > MAX_FORMS || bytes > MAX_BYTES {
                return None;
            }
        }
        next = found;
    }
    Some(all.into_iter().collect())
}

fn once(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    if text.contains('%') {
        forms.push(percent_decode_str(text).decode_utf8_lossy().into_owned());
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    for run in text.split(|c| !is_base64(c)).filter(|run| run.len() >= MIN_BASE64) {
        let run = run.replace('-', "+").replace('_', "/");
        // Something may stand in front of it in the same run.
        forms.extend((0..4).filter_map(|offset| {
            let run = run.get(offset..)?;
            // One letter alone is no byte.
            let run = if run.len() % 4 == 1 { run.get(..run.len() - 1)? } else { run };
            let bytes = BASE64.decode(run).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }));
    }
    for run in text.split(|c: char| !c.is_ascii_hexdigit()).filter(|run| run.len() >= MIN_HEX) {
        let digits: Vec<u8> =
            run.chars().filter_map(|c| c.to_digit(16)).filter_map(|digit| digit.try_into().ok()).collect();
        for offset in 0..2 {
            let pairs = digits.get(offset..).unwrap_or_default().chunks_exact(2);
            let bytes: Vec<u8> = pairs.map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
            forms.push(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    forms
}
