//! Who has signed a plugin, and the two kinds of signatures: by a key (minisign), and keyless (Sigstore).

use crate::{PublicKey, Signature};
use anyhow::Result;
use bub_sigstore::Bundle;
use bub_types::text::escaped;
use std::fmt;

/// What an identity begins with in `plugins.lock`.
const SIGSTORE: &str = "sigstore:";

/// Whose signature a plugin has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The owner of a key.
    Key(PublicKey),
    /// Whom an issuer has vouched for.
    Identity {
        /// The address of a workflow, or an e-mail address.
        identity: String,
        /// The issuer, as an address.
        issuer: String,
    },
}

impl Author {
    pub(crate) fn of(signer: &bub_sigstore::Signer) -> Self {
        Self::Identity { identity: signer.identity.clone(), issuer: signer.issuer.clone() }
    }

    /// What is in the lock: the signer, and the issuer if there is one.
    pub fn locked(&self) -> (String, Option<String>) {
        match self {
            Self::Key(key) => (key.to_string(), None),
            Self::Identity { identity, issuer } => (format!("{SIGSTORE}{identity}"), Some(issuer.clone())),
        }
    }

    pub(crate) fn from_lock(signer: &str, issuer: Option<&str>) -> Option<Self> {
        match signer.strip_prefix(SIGSTORE) {
            Some(identity) => Some(Self::Identity { identity: identity.to_owned(), issuer: issuer?.to_owned() }),
            None => signer.parse().ok().map(Self::Key),
        }
    }

    /// What `--accept-signer` takes for it, beside its name: the id of the key, or the identity.
    pub fn id(&self) -> &str {
        match self {
            Self::Key(key) => key.id(),
            Self::Identity { identity, .. } => identity,
        }
    }

    /// The table of `[trust]` that names such signers.
    pub(crate) fn table(&self) -> &'static str {
        match self {
            Self::Key(_) => "keys",
            Self::Identity { .. } => "identities",
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "key {}", key.id()),
            Self::Identity { identity, issuer } => {
                write!(f, "identity `{}` of `{}`", escaped(identity, 300), escaped(issuer, 200))
            }
        }
    }
}

/// A signature of a plugin, of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum PluginSignature {
    /// By a key.
    Key(Signature),
    /// By whom a certificate names.
    Keyless(Box<Bundle>),
}

impl PluginSignature {
    /// Parses a signature: a bundle is JSON, and a signature of minisign is not. Nothing is verified.
    ///
    /// # Errors
    ///
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self> {
        match text.trim_start().starts_with('{') {
            true => Ok(Self::Keyless(Box::new(Bundle::parse(text.as_bytes())?))),
            false => Ok(Self::Key(Signature::parse(text)?)),
        }
    }

    /// The text of it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Key(signature) => signature.as_str(),
            Self::Keyless(bundle) => bundle.as_str(),
        }
    }
}
