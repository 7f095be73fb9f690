//! Digests of plugins' bytes.

use bub_types::text::hex;
use sha2::{Digest, Sha256};

/// Whether that is a SHA-256 in hex.
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// SHA-256, in hex.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
