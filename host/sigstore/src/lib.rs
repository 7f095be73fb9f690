//! Keyless signatures: bundles of Sigstore, verified without a network.
//!
//! An author signs with a key that lives for minutes. A certificate authority (Fulcio) has bound it to an identity, such as a
//! workflow of a repository, and a public log (Rekor) has entered the signature while the certificate was valid. A
//! [`Bundle`] has all of that; a [`TrustedRoot`] has the keys of the authority and the logs. Nothing is fetched: the user
//! brings the root as a file.
//!
//! What is verified, in this order: the log's promise, or the timestamp, which give the time; the log's proof and its
//! checkpoint; the chain of the certificate at that time, for signing code; that a log of certificates has the certificate;
//! the signature over the artifact; that the log's entry is about this signature, this digest and this certificate. Then an
//! [`IdentityRule`] says whether the signer is the wanted one.
//!
//! | module | content |
//! | --- | --- |
//! | `bundle`, `body`, `statement` | the bundle, the entry of the log, attestations |
//! | `root` | the trusted root |
//! | `certificate`, `der`, `transparency` | the certificate of the signer, and the log of certificates |
//! | `log`, `timestamp` | promise, proof and checkpoint; timestamps of RFC 3161 |
//! | `identity` | who has signed, and who may |
//!
//! The crate knows nothing of plugins, files and networks.

#![warn(missing_docs, unreachable_pub)]

mod body;
mod bundle;
mod certificate;
mod der;
mod identity;
mod keys;
mod log;
mod root;
mod statement;
mod timestamp;
mod transparency;
mod verification;

pub use bundle::{Bundle, MAX_BUNDLE};
pub use identity::{IdentityRule, Signer};
pub use root::{MAX_ROOT, TrustedRoot};

use anyhow::Result;

/// Verifies that an identity that fits the rule has signed the artifact.
///
/// # Errors
///
/// One line: the bundle is not understood, is not right, is for other bytes, or is by another identity.
pub fn verify(bundle: &[u8], artifact: &[u8], root: &TrustedRoot, rule: &IdentityRule) -> Result<Signer> {
    let signer = Bundle::parse(bundle)?.verify(artifact, root)?;
    rule.check(&signer)?;
    Ok(signer)
}
