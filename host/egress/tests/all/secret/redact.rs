//! Texts that values are taken out of, comparing and signing.

use super::{Room, VALUE, text};
use bub_egress::secret::{NewValue, Secrets};
use bub_test_support::spellings::spellings;

/// Secrets of one value that stands in the file.
fn secrets(value: &str) -> (Room, Secrets) {
    let room = Room::new();
    let mut secrets = room.load();
    secrets.set("a", text(value), &[]).unwrap();
    (room, secrets)
}

#[test]
fn a_text_without_secrets_stays_as_it_is() {
    let (_room, secrets) = secrets("sesame");
    for text in ["", "open, sesam", "äöü\n\u{1b}[0m"] {
        assert_eq!(secrets.redact(text), text);
    }
}

#[test]
fn every_value_of_file_environment_and_files_is_taken_out() {
    let room = Room::new();
    let path = room.file("token", b"third value\n");
    room.write(&format!("[one]\nvalue = \"first value\"\n[three]\nfile = \"{}\"\n", path.display()), 0o600);
    let secrets = room.load_with(&[("BUB_SECRET_TWO", "second value")]);
    assert_eq!(secrets.redact("first value,second value third value!"), "***,*** ***!");
}

#[test]
fn the_longest_value_is_taken_out_first() {
    let room = Room::with("[a]\nvalue = \"abcdef\"\n[b]\nvalue = \"abcdefghi\"\n[c]\nvalue = \"xabcdef\"\n");
    assert_eq!(room.load().redact("abcdefghi abcdef xabcdef"), "*** *** ***");
}

#[test]
fn encoded_values_are_taken_out_too() {
    let (_room, secrets) = secrets(VALUE);
    for shown in [
        "k%2Fe%2By%3D1%202%263%25%224",
        "k%2fe%2by%3d1%202%263%25%224",
        "k%2Fe%2By%3D1+2%263%25%224",
        r#"k/e+y=1 2&3%\"4"#,
        r#"k\/e+y=1 2&3%\"4"#,
        "ay9lK3k9MSAyJjMlIjQ",
    ] {
        assert_eq!(secrets.redact(&format!("<{shown}>")), "<***>");
    }
}

#[test]
fn base64_of_a_longer_text_keeps_no_character_that_holds_only_the_value() {
    for value in ["0123456789abcdefghij", "\u{7f}???>>>~~~", VALUE] {
        let (_room, secrets) = secrets(value);
        for (before, behind) in (0..7).flat_map(|before| (1..4).map(move |behind| (before, behind))) {
            let encoded = base64(&format!("{}{value}{}", "u".repeat(before), "~".repeat(behind)));
            // A character holds six bits.
            let (from, to) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
            assert_eq!(secrets.redact(&encoded), format!("{}***{}", &encoded[..from], &encoded[to..]), "{encoded}");
        }
        let alone = base64(value);
        assert_eq!(secrets.redact(alone.trim_end_matches('=')), "***");
        let url_safe = alone.replace('+', "-").replace('/', "_");
        assert_eq!(secrets.redact(url_safe.trim_end_matches('=')), "***");
    }
}

fn base64(text: &str) -> String {
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let three = |bytes: &[u8]| {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | usize::from(bytes.get(n).copied().unwrap_or(0)));
        (0..4).map(|n| if n <= bytes.len() { alphabet[bits >> (18 - 6 * n) & 63] } else { '=' }).collect::<String>()
    };
    text.as_bytes().chunks(3).map(three).collect()
}

#[test]
fn a_value_that_is_too_short_is_not_redacted() {
    let room = Room::with("[a]\nvalue = \"abcde\"\n");
    assert_eq!(room.load().redact("abcde"), "abcde");
}

#[test]
fn replaced_and_removed_values_are_still_redacted() {
    let (room, mut secrets) = secrets("first value");
    secrets.set("a", text("second value"), &[]).unwrap();
    secrets.remove("a").unwrap();
    let file = room.file("token", b"third value");
    secrets.set("f", NewValue::File(file.clone()), &[]).unwrap();
    std::fs::write(file, "fourth value").unwrap();
    assert!(secrets.matches("f", b"fourth value").unwrap());
    assert_eq!(secrets.redact("first value second value third value fourth value"), "*** *** *** ***");
}

#[test]
fn a_file_that_changes_for_ever_fills_no_memory_and_hides_no_written_value() {
    let (room, mut secrets) = secrets("written value");
    let file = room.file("token", b"value 00000");
    secrets.set("f", NewValue::File(file.clone()), &[]).unwrap();
    for n in 1..=300 {
        std::fs::write(&file, format!("value {n:05}")).unwrap();
        assert!(!secrets.matches("f", b"x").unwrap());
    }
    assert_eq!(secrets.redact("written value, value 00300, value 00045"), "***, ***, ***");
    assert_eq!(secrets.redact("value 00000"), "value 00000");
}

#[test]
fn only_the_very_value_matches() {
    let (_room, secrets) = secrets("sesame");
    assert!(secrets.matches("a", b"sesame").unwrap());
    for other in [&b""[..], b"sesam", b"sesame\0", b"sesame ", b"Sesame", &[b'x'; 100_000]] {
        assert!(!secrets.matches("a", other).unwrap());
    }
}

#[test]
fn signatures_are_those_of_the_standard() {
    // RFC 4231, second case, with its key given as a variable: it is too short to be set.
    let secrets = Room::new().load_with(&[("BUB_SECRET_A", "Jefe")]);
    let signature = secrets.hmac_sha256("a", b"what do ya want for nothing?").unwrap();
    let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

/// Letters in both cases, and characters that every encoding writes differently.
const SPELLED: &str = "sk-Pl4nted_Key.0f/the+own=er";

#[test]
fn secrets_are_taken_out_of_texts_in_every_spelling() {
    let room = Room::new();
    let mut secrets = room.load();
    secrets.set("a", text(SPELLED), &[]).unwrap();
    for (name, spelled) in spellings(SPELLED) {
        assert_eq!(secrets.redact(&format!("<{spelled}>")), "<***>", "{name}");
    }
}
