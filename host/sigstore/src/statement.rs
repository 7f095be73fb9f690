//! Statements about an artifact, in the format of in-toto, signed in an envelope (DSSE).

use crate::bundle::{Envelope, parse};
use crate::keys::{hex, sha256};
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::escaped;
use serde::Deserialize;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

const STATEMENT_TYPES: [&str; 2] = ["https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"];

/// The statements with which a signer vouches for an artifact. Others, such as the result of a scan, may be against it.
const PREDICATES: [&str; 4] = [
    "https://slsa.dev/provenance/v1",
    "https://slsa.dev/provenance/v0.2",
    "https://docs.pypi.org/attestations/publish/v1",
    "https://sigstore.dev/cosign/sign/v1",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct Subject {
    digest: Digests,
}

#[derive(Deserialize)]
struct Digests {
    sha256: Option<String>,
}

/// What the signature is over.
pub(crate) fn signed_bytes(envelope: &Envelope) -> Vec<u8> {
    let (kind, payload) = (&envelope.payload_type, &envelope.payload);
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// The only signature.
pub(crate) fn signature(envelope: &Envelope) -> Result<&[u8]> {
    match envelope.signatures.as_slice() {
        [signature] => Ok(&signature.sig),
        signatures => bail!("its statement has {} signatures, and one is wanted", signatures.len()),
    }
}

/// Checks that the statement vouches for the artifact.
pub(crate) fn check(envelope: &Envelope, artifact: &[u8]) -> Result<()> {
    ensure!(
        envelope.payload_type == PAYLOAD_TYPE,
        "its statement has the type `{}`, and not `{PAYLOAD_TYPE}`",
        escaped(&envelope.payload_type, 100)
    );
    let wrong = "its statement is not understood";
    let text = std::str::from_utf8(&envelope.payload).ok().context(wrong)?;
    let statement: Statement = parse(text).context(wrong)?;
    ensure!(STATEMENT_TYPES.contains(&statement.kind.as_str()), wrong);
    ensure!(
        PREDICATES.contains(&statement.predicate_type.as_str()),
        "its statement is a `{}`, which does not vouch for what it is about",
        escaped(&statement.predicate_type, 100)
    );
    let digest = hex(&sha256(&[artifact]));
    let is_about = statement.subject.iter().any(|subject| subject.digest.sha256.as_ref() == Some(&digest));
    ensure!(is_about, "its statement is about other bytes: they have the SHA-256 {digest}");
    Ok(())
}
