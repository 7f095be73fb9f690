//! Heads as a COSE message (RFC 9052): a signed statement for tools that read CBOR.

use std::io;

use super::keys::AuditFolder;
use super::layer::Head;
use super::statement::{PAYLOAD_TYPE, statement};

/// Labels and values of RFC 9052 and 9053: the algorithm EdDSA, the type of the content, and the id of the key.
const ALGORITHM: u64 = 1;
const EDDSA: u64 = 8;
const CONTENT_TYPE: u64 = 3;
const KEY_ID: u64 = 4;

/// The tag of `COSE_Sign1`.
const SIGN1: u64 = 18;

/// Major types of CBOR (RFC 8949).
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

/// The statement that these are the heads of the chains of these tapes, the same as [`super::envelope`] has, as a
/// `COSE_Sign1` message with the key of the home. Its bytes are deterministic but for the time in the statement.
///
/// # Errors
///
/// The key cannot be read or made.
pub fn cose(folder: &AuditFolder, heads: &[Head]) -> io::Result<Vec<u8>> {
    let lock = folder.lock()?;
    let (key, id) = folder.signer(&lock)?;
    let payload = statement(heads).to_string();
    let mut protected = Vec::new();
    head(&mut protected, MAP, 3);
    head(&mut protected, UNSIGNED, ALGORITHM);
    // -8 is written as 7.
    head(&mut protected, NEGATIVE, EDDSA - 1);
    head(&mut protected, UNSIGNED, CONTENT_TYPE);
    string(&mut protected, TEXT, PAYLOAD_TYPE.as_bytes());
    head(&mut protected, UNSIGNED, KEY_ID);
    string(&mut protected, BYTES, id.as_bytes());
    // The structure that is signed: context, protected headers, no further data, payload.
    let mut signed = Vec::new();
    head(&mut signed, ARRAY, 4);
    string(&mut signed, TEXT, b"Signature1");
    string(&mut signed, BYTES, &protected);
    string(&mut signed, BYTES, b"");
    string(&mut signed, BYTES, payload.as_bytes());
    let mut message = Vec::new();
    head(&mut message, TAG, SIGN1);
    head(&mut message, ARRAY, 4);
    string(&mut message, BYTES, &protected);
    head(&mut message, MAP, 0);
    string(&mut message, BYTES, payload.as_bytes());
    string(&mut message, BYTES, key.sign(&signed).as_ref());
    Ok(message)
}

/// The head of an item: its major type with a number, in the shortest form.
fn head(out: &mut Vec<u8>, major: u8, number: u64) {
    let bytes = number.to_be_bytes();
    let (short, skipped) = match number {
        0..=23 => (bytes[7], 8),
        24..=0xff => (24, 7),
        0x100..=0xffff => (25, 6),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 0),
    };
    out.push(major << 5 | short);
    out.extend_from_slice(&bytes[skipped..]);
}

/// A text, or bytes, with its length.
fn string(out: &mut Vec<u8>, major: u8, content: &[u8]) {
    head(out, major, content.len() as u64);
    out.extend_from_slice(content);
}
