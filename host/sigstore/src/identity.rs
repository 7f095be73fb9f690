//! Who has signed, and who may.

use anyhow::{Result, bail, ensure};
use bub_types::text::escaped;
use jiff::Timestamp;
use std::fmt;

/// The longest identity or issuer, in bytes.
pub(crate) const MAX_IDENTITY: usize = 1 << 10;

/// Whom a certificate names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The identity: the address of a workflow, or an e-mail address.
    pub identity: String,
    /// Who has vouched for it, as an address.
    pub issuer: String,
    /// When a log or a timestamp authority has seen the signature; none before that was verified.
    pub time: Option<Timestamp>,
}

impl fmt::Display for Signer {
    /// Identity and issuer, without what a terminal would obey.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of `{}`", escaped(&self.identity, 300), escaped(&self.issuer, 200))
    }
}

/// Whom to accept: an identity with its issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRule {
    identity: String,
    issuer: String,
}

impl IdentityRule {
    /// A rule. The identity is meant exactly, unless `*` is its last character: that stands for the rest of the ref of a
    /// workflow (`…/release.yml@refs/tags/*`).
    ///
    /// # Errors
    ///
    /// A part is empty, or `*` is somewhere else.
    pub fn new(identity: &str, issuer: &str) -> Result<Self> {
        ensure!(!identity.is_empty(), "the identity is empty");
        ensure!(!issuer.is_empty(), "the issuer is empty");
        ensure!(
            issuer.starts_with("https://") && !issuer.contains('*'),
            "the issuer `{}` is not an address, such as `https://token.actions.githubusercontent.com`",
            escaped(issuer, 200)
        );
        let beginning = identity.strip_suffix('*').unwrap_or(identity);
        // Before the `@` are host, repository and workflow, which make the identity.
        let has_ref = beginning.split_once("://").is_some_and(|(_, rest)| rest.contains("@refs/"));
        if beginning.contains('*') || (beginning.len() < identity.len() && !has_ref) {
            bail!(
                "the identity `{}` has `*` in the wrong place: it can only be the end of the ref of a workflow, as in \
                 `https://github.com/OWNER/REPOSITORY/.github/workflows/release.yml@refs/tags/*`",
                escaped(identity, 200)
            );
        }
        Ok(Self { identity: identity.to_owned(), issuer: issuer.to_owned() })
    }

    /// Whether the signer is meant.
    pub fn matches(&self, signer: &Signer) -> bool {
        let is_identity = match self.identity.strip_suffix('*') {
            Some(beginning) => signer.identity.strip_prefix(beginning).is_some_and(|rest| !rest.is_empty()),
            None => signer.identity == self.identity,
        };
        is_identity && signer.issuer == self.issuer
    }

    /// Checks that the signer is meant.
    ///
    /// # Errors
    ///
    /// The identity or the issuer is another one.
    pub fn check(&self, signer: &Signer) -> Result<()> {
        ensure!(
            self.matches(signer),
            "it is signed by {signer}, not by `{}` of `{}`",
            escaped(&self.identity, 300),
            escaped(&self.issuer, 200)
        );
        Ok(())
    }
}
