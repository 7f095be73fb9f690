//! Lines that a key has signed: `{"NAME": VALUE, "sig": "BASE64"}`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_tape::json;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};

/// The line for a value, which is JSON.
pub(crate) fn line(name: &str, value: &str, key: &Ed25519KeyPair) -> String {
    let signature = STANDARD.encode(key.sign(&signed_bytes(name, value)));
    format!(r#"{{"{name}": {value}, "sig": "{signature}"}}"#)
}

/// The value of such a line, and its signature. `None` if a byte is not as [`line`] writes it.
pub(crate) fn parse<'l>(name: &str, line: &'l str) -> Option<(&'l str, Vec<u8>)> {
    let value = json::get(line, name)?;
    let encoded = json::string(json::get(line, "sig")?)?;
    let is_whole = line == format!(r#"{{"{name}": {value}, "sig": "{encoded}"}}"#);
    let signature = STANDARD.decode(&encoded).ok().filter(|_| is_whole)?;
    Some((value, signature))
}

/// Whether that key has signed the value.
pub(crate) fn is_signed(name: &str, value: &str, signature: &[u8], public: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public).verify(&signed_bytes(name, value), signature).is_ok()
}

/// What is signed: a signature of one kind of line is none of another.
fn signed_bytes(name: &str, value: &str) -> Vec<u8> {
    format!("bub audit {name} 1\n{value}").into_bytes()
}
