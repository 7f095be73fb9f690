//! Signatures of components.
//!
//! The signature is one of minisign over the bytes of the component, so that `minisign -V` checks it as well. Name and
//! version are in its trusted comment, which is signed too: a registry cannot pass off one version, or one plugin, as
//! another.

use crate::key::id;
use crate::{Digest, PublicKey, SecretKey};
use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_types::text::escaped;
use jiff::Timestamp;

/// The longest signature that is read, in bytes.
const MAX_LENGTH: usize = 8 << 10;

/// What an author states with a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The name of the plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// When it was signed, by the author's clock.
    pub time: Option<Timestamp>,
}

/// A signature of a component, as its author has written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    text: String,
    key_id: String,
}

impl Signature {
    /// Signs a component.
    ///
    /// # Errors
    ///
    /// The key does not sign.
    pub fn new(key: &SecretKey, component: &[u8], name: &str, version: &str) -> Result<Self> {
        let (time, digest) = (Timestamp::now().as_second(), Digest::of(component));
        let comment = format!("timestamp:{time}\tname:{name}\tversion:{version}\tdigest:{digest}");
        Self::parse(&key.sign(component, &comment)?)
    }

    /// Signs a file under its name, with the comment that minisign itself writes.
    ///
    /// # Errors
    ///
    /// The key does not sign.
    pub fn of_file(key: &SecretKey, bytes: &[u8], name: &str) -> Result<Self> {
        let time = Timestamp::now().as_second();
        Self::parse(&key.sign(bytes, &format!("timestamp:{time}\tfile:{name}\thashed"))?)
    }

    /// Verifies that the owner of the key has signed these bytes as a file of that name: what was signed as another file,
    /// or as a plugin, is refused.
    ///
    /// # Errors
    ///
    /// It is of another key, for other bytes or for another file.
    pub fn verify_file(&self, key: &PublicKey, bytes: &[u8], name: &str) -> Result<()> {
        let comment = self.verified_comment(key, bytes)?;
        let stated = comment.split('\t').find_map(|part| part.strip_prefix("file:"));
        ensure!(
            stated == Some(name),
            "its signature is not for a file `{name}`, but says `{}`",
            escaped(&comment, 100)
        );
        Ok(())
    }

    /// Parses what minisign writes; nothing is verified.
    ///
    /// # Errors
    ///
    /// It is not a signature.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = "its signature is not one of minisign";
        ensure!(text.len() <= MAX_LENGTH, wrong);
        minisign_verify::Signature::decode(text).map_err(|_| anyhow::anyhow!(wrong))?;
        let line = text.lines().nth(1).context(wrong)?;
        let bytes = STANDARD.decode(line.trim()).context(wrong)?;
        Ok(Self { text: text.to_owned(), key_id: id(&bytes) })
    }

    /// The id of the key that it claims to be made with.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The text of it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Verifies that the owner of the key has signed these bytes, and returns what the signature states.
    ///
    /// # Errors
    ///
    /// It is of another key or for other bytes, or states no name and version.
    pub fn verify(&self, key: &PublicKey, component: &[u8]) -> Result<Statement> {
        Self::statement(&self.verified_comment(key, component)?)
    }

    /// The trusted comment of a signature that is right.
    fn verified_comment(&self, key: &PublicKey, bytes: &[u8]) -> Result<String> {
        if key.id() != self.key_id {
            bail!("its signature is by key {}, not by key {}", self.key_id, key.id());
        }
        let signature = minisign_verify::Signature::decode(&self.text).map_err(|error| anyhow::anyhow!("{error}"))?;
        // Signatures of the older format, which hash no bytes first, are not accepted.
        let verified = key.verifier()?.verify(bytes, &signature, false);
        verified.map_err(|_| anyhow::anyhow!("its signature by key {} is not for these bytes", self.key_id))?;
        Ok(signature.trusted_comment().to_owned())
    }

    fn statement(comment: &str) -> Result<Statement> {
        let field = |key: &str| comment.split('\t').find_map(|part| part.strip_prefix(key)?.strip_prefix(':'));
        let wanted = |key: &str| {
            let value = field(key).filter(|value| !value.is_empty());
            value.map(str::to_owned).with_context(|| {
                format!("its signature states no {key} (`{}`): sign it by `plugin publish`", escaped(comment, 100))
            })
        };
        let seconds = field("timestamp").and_then(|time| time.parse().ok());
        Ok(Statement {
            name: wanted("name")?,
            version: wanted("version")?,
            time: seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()),
        })
    }
}
