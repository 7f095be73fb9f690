//! The body of a log entry, which has to be about this signature, this content and this certificate.

use crate::bundle::{Base64, Entry, parse};
use crate::keys::{decode, digest_by, hex};
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::escaped;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What an entry has to be about.
pub(crate) struct Expected<'a> {
    /// What the signature is over: the artifact, or the encoding of a statement.
    pub(crate) signed: &'a [u8],
    /// The statement, if there is one.
    pub(crate) payload: Option<&'a [u8]>,
    pub(crate) signature: &'a [u8],
    pub(crate) certificate: &'a [u8],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    kind: String,
    api_version: String,
    #[serde(borrow)]
    spec: &'a RawValue,
}

/// Checks that the entry is about that.
pub(crate) fn check(entry: &Entry, expected: &Expected<'_>) -> Result<()> {
    let wrong = "the body of its log entry is not understood";
    let text = std::str::from_utf8(&entry.canonicalized_body).ok().context(wrong)?;
    let body: Body<'_> = parse(text).context(wrong)?;
    let said = &entry.kind_version;
    ensure!(
        body.kind == said.kind && body.api_version == said.version,
        "its log entry is said to be `{} {}`, and is `{} {}`",
        escaped(&said.kind, 40),
        escaped(&said.version, 40),
        escaped(&body.kind, 40),
        escaped(&body.api_version, 40)
    );
    let spec = body.spec.get();
    match (body.kind.as_str(), body.api_version.as_str(), expected.payload) {
        ("hashedrekord", "0.0.1", None) => {
            let spec: HashedRekord = parse(spec).context(wrong)?;
            expected.check(spec.data.hash.is_of(expected.signed), &spec.signature.content)?;
            expected.check_certificate(&pem(&spec.signature.public_key.content)?)
        }
        ("hashedrekord", "0.0.2", _) => {
            let spec = parse::<HashedRekordV2>(spec).context(wrong)?.hashed_rekord_v002;
            let digest = digest_by(&spec.data.algorithm, expected.signed);
            expected.check(digest.is_some_and(|digest| digest == *spec.data.digest), &spec.signature.content)?;
            expected.check_certificate(&spec.signature.verifier.x509_certificate.raw_bytes)
        }
        ("dsse", "0.0.1", Some(payload)) => {
            let spec: Dsse = parse(spec).context(wrong)?;
            let [signature] = spec.signatures.as_slice() else { bail!(wrong) };
            expected.check(spec.payload_hash.is_of(payload), &signature.signature)?;
            expected.check_certificate(&pem(&signature.verifier)?)
        }
        ("intoto", "0.0.2", Some(payload)) => {
            let content = parse::<InToto>(spec).context(wrong)?.content;
            let [signature] = content.envelope.signatures.as_slice() else { bail!(wrong) };
            // It is encoded twice.
            let sig = std::str::from_utf8(&signature.sig).ok().and_then(|sig| decode(sig).ok()).context(wrong)?;
            expected.check(content.payload_hash.is_of(payload), &sig)?;
            expected.check_certificate(&pem(&signature.public_key)?)
        }
        (kind, version, _) => bail!(
            "its log entry is a `{} {}`, which is not read for such a bundle",
            escaped(kind, 40),
            escaped(version, 40)
        ),
    }
}

impl Expected<'_> {
    fn check(&self, is_digest: bool, signature: &[u8]) -> Result<()> {
        ensure!(is_digest, "its log entry is about other bytes");
        ensure!(signature == self.signature, "its log entry is about another signature");
        Ok(())
    }

    fn check_certificate(&self, certificate: &[u8]) -> Result<()> {
        ensure!(certificate == self.certificate, "its log entry is about another certificate");
        Ok(())
    }
}

/// The bytes of a certificate in PEM.
fn pem(text: &[u8]) -> Result<Vec<u8>> {
    let wrong = "its log entry has no certificate";
    let text = std::str::from_utf8(text).ok().context(wrong)?.trim();
    let inner = text
        .strip_prefix("-----BEGIN CERTIFICATE-----")
        .and_then(|rest| rest.strip_suffix("-----END CERTIFICATE-----"));
    let digits: String = inner.context(wrong)?.split_ascii_whitespace().collect();
    decode(&digits).context(wrong)
}

#[derive(Deserialize)]
struct HashedRekord {
    data: Data,
    signature: SignatureJson,
}

#[derive(Deserialize)]
struct Data {
    hash: Hash,
}

#[derive(Deserialize)]
struct Hash {
    algorithm: String,
    value: String,
}

impl Hash {
    fn is_of(&self, bytes: &[u8]) -> bool {
        digest_by(&self.algorithm, bytes).is_some_and(|digest| hex(&digest) == self.value)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignatureJson {
    content: Base64,
    public_key: PublicKey,
}

#[derive(Deserialize)]
struct PublicKey {
    content: Base64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HashedRekordV2 {
    #[serde(rename = "hashedRekordV002")]
    hashed_rekord_v002: SpecV2,
}

#[derive(Deserialize)]
struct SpecV2 {
    data: crate::bundle::MessageDigest,
    signature: SignatureV2,
}

#[derive(Deserialize)]
struct SignatureV2 {
    content: Base64,
    verifier: Verifier,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verifier {
    x509_certificate: crate::bundle::RawCertificate,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dsse {
    payload_hash: Hash,
    signatures: Vec<DsseSignature>,
}

#[derive(Deserialize)]
struct DsseSignature {
    signature: Base64,
    verifier: Base64,
}

#[derive(Deserialize)]
struct InToto {
    content: InTotoContent,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InTotoContent {
    envelope: InTotoEnvelope,
    payload_hash: Hash,
}

#[derive(Deserialize)]
struct InTotoEnvelope {
    signatures: Vec<InTotoSignature>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InTotoSignature {
    sig: Base64,
    public_key: Base64,
}
