//! Keys of authors, in the format of minisign.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_types::text::escaped;
use std::fmt;
use std::io::Cursor;
use std::str::FromStr;

/// The comment of a new key.
const COMMENT: &str = "bub-wasm plugin key";

/// The public key of an author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    base64: String,
    id: String,
}

impl PublicKey {
    /// The id, 16 hex digits, as minisign prints it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key as in `minisign.pub`, without its comment.
    pub fn as_str(&self) -> &str {
        &self.base64
    }

    pub(crate) fn verifier(&self) -> Result<minisign_verify::PublicKey> {
        minisign_verify::PublicKey::from_base64(&self.base64).map_err(|error| anyhow::anyhow!("{error}"))
    }
}

impl FromStr for PublicKey {
    type Err = anyhow::Error;

    /// Parses a line of Base64, or the two lines of `minisign.pub`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            format!(
                "`{}` is not a public key of minisign, which begins with `RW` and has 56 characters",
                escaped(text, 80)
            )
        };
        let base64 = text.trim().lines().last().unwrap_or_default().trim();
        let bytes = STANDARD.decode(base64).ok().filter(|bytes| bytes.len() == 42).with_context(wrong)?;
        minisign_verify::PublicKey::from_base64(base64).ok().with_context(wrong)?;
        Ok(Self { base64: base64.to_owned(), id: id(&bytes) })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base64)
    }
}

/// The id in the bytes of a key or a signature: behind two bytes for the algorithm, the least significant byte first.
pub(crate) fn id(bytes: &[u8]) -> String {
    let id = bytes.get(2..10).and_then(|id| id.try_into().ok()).map(u64::from_le_bytes);
    format!("{:016X}", id.unwrap_or_default())
}

/// The secret key of an author. `Debug` shows its id.
pub struct SecretKey {
    key: minisign::SecretKey,
    public: PublicKey,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public.id)
    }
}

impl SecretKey {
    /// Makes a new key, and the text of its file: encrypted with the password, if there is one.
    ///
    /// # Errors
    ///
    /// The machine has no random numbers, or not the memory that the encryption takes.
    pub fn generate(password: Option<String>) -> Result<(Self, String)> {
        let made = match password {
            Some(password) => minisign::KeyPair::generate_encrypted_keypair(Some(password.clone()))
                .and_then(|pair| Ok((pair.sk.to_box(Some(COMMENT))?, Some(password)))),
            None => minisign::KeyPair::generate_unencrypted_keypair()
                .and_then(|pair| Ok((pair.sk.to_box(Some(COMMENT))?, None))),
        };
        let (text, password) = made.map_err(|error| anyhow::anyhow!("no key is made: {error}"))?;
        let text = text.into_string();
        Ok((Self::parse(&text, password)?, text))
    }

    /// Whether the text of a key file needs a password.
    pub fn is_encrypted(text: &str) -> bool {
        // The byte pair behind the algorithm of the signature names that of the encryption.
        let line = text.trim().lines().last().unwrap_or_default().trim();
        STANDARD.decode(line).is_ok_and(|bytes| bytes.get(2..4) == Some(b"Sc"))
    }

    /// Parses the text of a key file.
    ///
    /// # Errors
    ///
    /// It is none, or the password is wrong.
    pub fn parse(text: &str, password: Option<String>) -> Result<Self> {
        let wrong = |_| anyhow::anyhow!("it is not a secret key of minisign, or its password is another");
        let boxed = minisign::SecretKeyBox::from_string(text.trim()).map_err(wrong)?;
        let key = match Self::is_encrypted(text) {
            true if password.is_none() => bail!("it is encrypted, and there is no password"),
            true => boxed.into_secret_key(password).map_err(wrong)?,
            false => boxed.into_unencrypted_secret_key().map_err(wrong)?,
        };
        let public = minisign::PublicKey::from_secret_key(&key).map_err(wrong)?;
        Ok(Self { public: public.to_base64().parse()?, key })
    }

    /// The public key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs these bytes with a comment that is signed too.
    pub(crate) fn sign(&self, bytes: &[u8], comment: &str) -> Result<String> {
        let signed = minisign::sign(None, &self.key, Cursor::new(bytes), Some(comment), Some("signature by bub-wasm"));
        Ok(signed.map_err(|error| anyhow::anyhow!("it cannot be signed: {error}"))?.into_string())
    }
}
