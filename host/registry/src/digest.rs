//! Digests of content.

use anyhow::{Result, bail};
use bub_types::text::{escaped, hex};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// The prefix of the only algorithm that is accepted.
const PREFIX: &str = "sha256:";

/// The SHA-256 of some content, as registries write it: `sha256:` and 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::finished(Sha256::new_with_prefix(bytes))
    }

    /// The digest of what was hashed.
    pub(crate) fn finished(hasher: Sha256) -> Self {
        Self(hex(&hasher.finalize()))
    }

    /// The hex digits alone.
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let hex = text.strip_prefix(PREFIX).unwrap_or_default();
        // One spelling for one content: upper case would be another key of a table.
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) {
            bail!("`{}` is not a digest: write `sha256:` and 64 hex digits in lower case", escaped(text, 100));
        }
        Ok(Self(hex.to_owned()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}
