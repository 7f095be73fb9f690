//! Spellings in which a value may come back, in whole texts and in pieces.

mod form;

use bub_redact::{Patterns, RedactStream, encodings};
use bub_test_support::Chance;
use bub_test_support::spellings::spellings;

const VALUE: &str = "sk-Pl4nted_Key.0f/the+own=er";

#[test]
fn a_value_is_found_in_every_spelling_wherever_the_pieces_are_cut() {
    for value in [VALUE, "çö𝕜ey-äß?ñ", "with \"quotes\", \\ and %41 & &amp; in it"] {
        let patterns = Patterns::new(encodings(value.as_bytes()));
        for (name, spelled) in spellings(value) {
            let text = format!("before <{spelled}> behind");
            let expected = "before <***> behind";
            assert_eq!(patterns.redact_text(&text), expected, "{name} of {value}");
            for cut in 0..=text.len() {
                let mut stream = RedactStream::new(&patterns);
                let mut passed = stream.push(&text.as_bytes()[..cut]);
                passed.extend(stream.push(&text.as_bytes()[cut..]));
                passed.extend(stream.finish());
                assert_eq!(String::from_utf8_lossy(&passed), expected, "{name} of {value}, cut at {cut}");
            }
        }
    }
}

#[test]
fn any_mixture_of_spellings_is_found_byte_by_byte() {
    let patterns = Patterns::new(encodings(VALUE.as_bytes()));
    for seed in 0..500 {
        let mut chance = Chance::new(seed);
        let spelled: String = VALUE
            .chars()
            .map(|character| match chance.below(8) {
                0 => format!("%{:02X}", u32::from(character)),
                1 => format!("\\u{:04x}", u32::from(character)),
                2 => format!("&#{};", u32::from(character)),
                3 => format!("&#x{:x};", u32::from(character)),
                4 => format!("\\x{:02x}", u32::from(character)),
                5 => character.to_uppercase().to_string(),
                6 => character.to_lowercase().to_string(),
                _ => character.to_string(),
            })
            .collect();
        let text = format!("%4{spelled}\\u00{spelled}&#{spelled}&");
        let mut stream = RedactStream::new(&patterns);
        let mut passed: Vec<u8> = text.bytes().flat_map(|byte| stream.push(&[byte])).collect();
        passed.extend(stream.finish());
        assert_eq!(passed, patterns.redact(text.as_bytes()), "seed {seed}: {text}");
        assert_eq!(String::from_utf8_lossy(&passed).matches("***").count(), 3, "seed {seed}: {text}");
    }
}

#[test]
fn a_text_without_a_value_stays_as_it_is_however_it_is_cut() {
    let patterns = Patterns::new(encodings(VALUE.as_bytes()));
    let pieces =
        ["sk-", "%", "%7", "\\", "\\u", "\\ud83d", "\\u00e9", "&", "&#", "&#x", "&amp", "key", "ä", "\"", "\n"];
    for seed in 0..500 {
        let mut chance = Chance::new(seed);
        let text: String = (0..chance.below(40)).map(|_| *chance.one_of(&pieces)).collect();
        let mut stream = RedactStream::new(&patterns);
        let mut passed: Vec<u8> = Vec::new();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(1 + chance.below(rest.len()));
            passed.extend(stream.push(piece));
            rest = behind;
        }
        passed.extend(stream.finish());
        assert_eq!(String::from_utf8_lossy(&passed), text, "seed {seed}");
    }
}
