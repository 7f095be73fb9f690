//! `audit export --format cose`, as other programs read it.

use super::{SESSION, audit, is_whole};
use crate::home;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::Value;
use std::fs;

/// The next item of CBOR, which is a string of bytes.
fn bytes<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let first = rest[0];
    assert_eq!(first >> 5, 2, "no string of bytes: {first:#x}");
    let (length, begin) = match first & 31 {
        short @ 0..=23 => (usize::from(short), 1),
        24 => (usize::from(rest[1]), 2),
        25 => (usize::from(rest[1]) << 8 | usize::from(rest[2]), 3),
        other => panic!("a length of kind {other}"),
    };
    let (taken, behind) = rest[begin..].split_at(length);
    *rest = behind;
    taken
}

#[test]
fn the_command_writes_a_cose_message_that_the_public_key_verifies_and_none_to_a_terminal() {
    let home = home();
    home.run(["one"]).finish().answers();
    let file = home.workspace().join("heads.cose");
    let export = || home.bub(["audit", "export", "--format", "cose", SESSION]);
    let finished = export().under(&format!("exec >'{}'", file.display())).finish();
    assert!(finished.code == Some(0) && finished.stderr.is_empty(), "{finished}");
    let exported = fs::read(file).expect("a file");
    let mut rest = &exported[..];
    // The tag of COSE_Sign1, and an array of four.
    assert_eq!(rest[..2], [0xd2, 0x84]);
    rest = &rest[2..];
    let protected_from = exported.len() - rest.len();
    let protected = bytes(&mut rest);
    let protected_item = &exported[protected_from..exported.len() - rest.len()];
    assert_eq!(rest[0], 0xa0, "the headers that are not signed are none");
    rest = &rest[1..];
    let payload_from = exported.len() - rest.len();
    let payload = bytes(&mut rest);
    let payload_item = &exported[payload_from..exported.len() - rest.len()];
    let signature = bytes(&mut rest);
    assert!(rest.is_empty());
    // The algorithm is EdDSA: 1 is -8.
    assert_eq!(protected[..3], [0xa3, 0x01, 0x27]);
    let keys: Value = serde_json::from_str(&audit(&home, &["key", "--json"]).stdout).expect("JSON");
    let public = STANDARD.decode(keys["keys"][0]["public"].as_str().expect("a key")).expect("base64");
    // RFC 9052, section 4.4.
    let mut signed = [&[0x84, 0x6a], &b"Signature1"[..], protected_item, &[0x40], payload_item].concat();
    let public = UnparsedPublicKey::new(&ED25519, public);
    public.verify(&signed, signature).expect("it is signed with the key of the home");
    *signed.last_mut().expect("a byte") ^= 1;
    assert!(public.verify(&signed, signature).is_err());
    let statement: Value = serde_json::from_slice(payload).expect("JSON");
    let verified = is_whole(&home);
    assert_eq!(statement["subject"][0]["digest"]["sha256"], verified["tapes"][0]["head"]["hash"]);

    let terminal = export().terminal(200, 20);
    terminal.sees("`--format cose` writes bytes that a terminal cannot show: redirect them to a file");
}
