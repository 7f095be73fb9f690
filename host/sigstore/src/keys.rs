//! Signatures by keys of a trusted root, and the algorithms that are known.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls_pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::{RawPublicKeyEntity, ring as known};

/// What Fulcio, Rekor and their signers use. A key fits some of them, by its kind and curve.
pub(crate) static ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    known::ECDSA_P256_SHA256,
    known::ECDSA_P384_SHA384,
    known::ED25519,
    known::ECDSA_P256_SHA384,
    known::ECDSA_P384_SHA256,
    known::RSA_PKCS1_2048_8192_SHA256,
    known::RSA_PKCS1_2048_8192_SHA384,
    known::RSA_PKCS1_2048_8192_SHA512,
];

/// Whether one of the algorithms verifies.
pub(crate) fn any(verify: impl Fn(&dyn SignatureVerificationAlgorithm) -> Result<(), webpki::Error>) -> bool {
    ALGORITHMS.iter().any(|algorithm| verify(*algorithm).is_ok())
}

/// Whether the key, a `SubjectPublicKeyInfo`, has signed the message.
pub(crate) fn has_signed(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let key = SubjectPublicKeyInfoDer::from(key);
    let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
    any(|algorithm| key.verify_signature(algorithm, message, signature))
}

/// SHA-256.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = ring::digest::Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    bytes
}

/// The digest by an algorithm with that name, of Sigstore or of Rekor.
pub(crate) fn digest_by(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let algorithm: &Algorithm = match name {
        "SHA2_256" | "sha256" => &SHA256,
        "SHA2_384" | "sha384" => &SHA384,
        "SHA2_512" | "sha512" => &SHA512,
        _ => return None,
    };
    Some(digest(algorithm, bytes).as_ref().to_vec())
}

/// Hex digits, in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes in Base64.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>> {
    STANDARD.decode(text).ok().context("it is not Base64")
}

/// In Base64.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
