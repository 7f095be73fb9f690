//! Heads as an in-toto statement in a DSSE envelope, for tools that know these formats.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::keys::AuditFolder;
use super::layer::Head;

/// The type of the payload, by in-toto.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The type of the predicate: what the digests of the subjects are.
const PREDICATE: &str = "urn:bub-wasm:audit:1";

/// The statement that these are the heads of the chains of these tapes, signed with the key of the home.
///
/// # Errors
///
/// The key cannot be read or made.
pub fn envelope(folder: &AuditFolder, heads: &[Head]) -> io::Result<serde_json::Value> {
    let lock = folder.lock()?;
    let (key, id) = folder.signer(&lock)?;
    let payload = statement(heads).to_string();
    let signature = key.sign(&encoded(&payload));
    Ok(json!({
        "payloadType": PAYLOAD_TYPE,
        "payload": STANDARD.encode(&payload),
        "signatures": [{ "keyid": id, "sig": STANDARD.encode(signature) }],
    }))
}

/// The statement without a signature.
pub(crate) fn statement(heads: &[Head]) -> serde_json::Value {
    let subjects = heads.iter().map(|head| json!({ "name": head.tape, "digest": { "sha256": head.hash } }));
    let chains = heads.iter().map(|head| json!({ "tape": head.tape, "chain": head.chain, "seq": head.seq }));
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects.collect::<Vec<_>>(),
        "predicateType": PREDICATE,
        "predicate": { "at": bub_tape::now(), "chains": chains.collect::<Vec<_>>() },
    })
}

/// The bytes that DSSE signs: the lengths and the texts of type and payload.
fn encoded(payload: &str) -> Vec<u8> {
    format!("DSSEv1 {} {PAYLOAD_TYPE} {} {payload}", PAYLOAD_TYPE.len(), payload.len()).into_bytes()
}
