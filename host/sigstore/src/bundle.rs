//! A bundle: the JSON of `application/vnd.dev.sigstore.bundle`, versions 0.1 to 0.3.

use crate::Signer;
use crate::certificate::Certificate;
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::{escaped, one_line};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::borrow::Cow;
use std::ops::Deref;

/// The largest bundle that is read, in bytes.
pub const MAX_BUNDLE: usize = 64 << 10;

/// The media types of bundles, with the version that each is of.
const MEDIA_TYPES: [(&str, Version); 5] = [
    ("application/vnd.dev.sigstore.bundle+json;version=0.1", Version::First),
    ("application/vnd.dev.sigstore.bundle+json;version=0.2", Version::Second),
    ("application/vnd.dev.sigstore.bundle+json;version=0.3", Version::Third),
    ("application/vnd.dev.sigstore.bundle.v0.2+json", Version::Second),
    ("application/vnd.dev.sigstore.bundle.v0.3+json", Version::Third),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    First,
    Second,
    Third,
}

/// A bundle of Sigstore: a signature, the certificate of its key, and the entry of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    text: String,
    signer: Signer,
    pub(crate) version: Version,
    pub(crate) certificate: Vec<u8>,
    pub(crate) entry: Entry,
    pub(crate) timestamps: Vec<Base64>,
    pub(crate) content: Content,
}

/// What is signed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// The artifact.
    Message(MessageSignature),
    /// A statement about the artifact.
    Envelope(Envelope),
}

impl Bundle {
    /// Parses a bundle; nothing is verified.
    ///
    /// # Errors
    ///
    /// It is none, is too large, or has no certificate, or not one entry of a log.
    pub fn parse(json: &[u8]) -> Result<Self> {
        ensure!(json.len() <= MAX_BUNDLE, "its bundle of Sigstore is larger than {} KiB", MAX_BUNDLE >> 10);
        let text = std::str::from_utf8(json).ok().context("its bundle of Sigstore is not UTF-8")?;
        let (text, json) = (text.to_owned(), parse::<Json>(text).context("its bundle of Sigstore is not understood")?);
        let known = MEDIA_TYPES.iter().find(|(media_type, _)| *media_type == json.media_type);
        let Some((_, version)) = known else {
            bail!("its bundle has the media type `{}`; known are versions 0.1 to 0.3", escaped(&json.media_type, 100));
        };
        let material = json.verification_material;
        ensure!(
            material.public_key.is_none(),
            "its bundle is signed by a key, and not by the holder of a certificate: only keyless bundles are read"
        );
        // What is behind the certificate of the signer comes from the trusted root, never from here.
        let chain = material.x509_certificate_chain.map(|chain| chain.certificates).unwrap_or_default();
        let mut certificates = material.certificate.into_iter().chain(chain);
        let certificate = certificates.next().context("its bundle has no certificate")?.raw_bytes.0;
        for above in certificates {
            ensure!(!is_self_signed(&above.raw_bytes)?, "its bundle brings a root of its own");
        }
        let signer = Certificate::parse(&certificate).and_then(|certificate| certificate.signer());
        let mut entries = material.tlog_entries;
        let entry = entries.pop().filter(|_| entries.is_empty());
        let entry = entry.with_context(|| match entries.len() {
            0 => "its bundle has no entry of a log".to_owned(),
            others => format!("its bundle has {} entries of logs, and one is wanted", others + 1),
        })?;
        let content = match (json.message_signature, json.dsse_envelope) {
            (Some(message), None) => Content::Message(message),
            (None, Some(envelope)) => Content::Envelope(envelope),
            (Some(_), Some(_)) => bail!("its bundle has two signatures, of the artifact and of a statement"),
            (None, None) => bail!("its bundle has no signature"),
        };
        let timestamps = material.timestamp_verification_data.and_then(|data| data.rfc3161_timestamps);
        let timestamps = timestamps.unwrap_or_default().into_iter().map(|timestamp| timestamp.signed_timestamp);
        Ok(Self {
            text,
            signer: signer?,
            version: *version,
            certificate,
            entry,
            timestamps: timestamps.collect(),
            content,
        })
    }

    /// Whom the certificate names; nothing of it is verified.
    pub fn claimed(&self) -> &Signer {
        &self.signer
    }

    /// The text of it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn is_self_signed(certificate: &[u8]) -> Result<bool> {
    let certificate = Certificate::parse(certificate)?;
    Ok(certificate.is_self_issued())
}

/// Parses JSON, with an error of one line.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| anyhow::anyhow!("{}", one_line(&error.to_string())))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    media_type: String,
    verification_material: Material,
    message_signature: Option<MessageSignature>,
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    certificate: Option<RawCertificate>,
    x509_certificate_chain: Option<Chain>,
    public_key: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    tlog_entries: Vec<Entry>,
    timestamp_verification_data: Option<Timestamps>,
}

#[derive(Deserialize)]
pub(crate) struct Chain {
    pub(crate) certificates: Vec<RawCertificate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawCertificate {
    pub(crate) raw_bytes: Base64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Timestamps {
    rfc3161_timestamps: Option<Vec<SignedTimestamp>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedTimestamp {
    signed_timestamp: Base64,
}

/// A signature of the artifact.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageSignature {
    pub(crate) message_digest: Option<MessageDigest>,
    pub(crate) signature: Base64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct MessageDigest {
    pub(crate) algorithm: String,
    pub(crate) digest: Base64,
}

/// A signed statement, in the format DSSE.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    pub(crate) payload: Base64,
    pub(crate) payload_type: String,
    pub(crate) signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct EnvelopeSignature {
    pub(crate) sig: Base64,
}

/// An entry of a transparency log.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) log_index: Number,
    pub(crate) log_id: LogId,
    pub(crate) kind_version: KindVersion,
    pub(crate) integrated_time: Option<Number>,
    pub(crate) inclusion_promise: Option<Promise>,
    pub(crate) inclusion_proof: Option<Proof>,
    pub(crate) canonicalized_body: Base64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogId {
    pub(crate) key_id: Base64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct KindVersion {
    pub(crate) kind: String,
    pub(crate) version: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Promise {
    pub(crate) signed_entry_timestamp: Base64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    #[serde(default)]
    pub(crate) log_index: Number,
    pub(crate) root_hash: Base64,
    pub(crate) tree_size: Number,
    #[serde(default)]
    pub(crate) hashes: Vec<Base64>,
    pub(crate) checkpoint: Option<Checkpoint>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) envelope: String,
}

/// Bytes, in Base64.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Base64(pub(crate) Vec<u8>);

impl Deref for Base64 {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        crate::keys::decode(&text).map(Self).map_err(|error| D::Error::custom(format_args!("{error}")))
    }
}

/// A number that is not negative, as one or in quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // 2^63 and more are numbers of nothing.
        let number = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text.parse().ok(),
            value => value.as_i64(),
        };
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.map(Self).ok_or_else(|| D::Error::custom("a number is wanted, which is not negative"))
    }
}
