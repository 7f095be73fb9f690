//! The trusted root: the keys of certificate authorities and logs, in the format of Sigstore.

use crate::bundle::{Base64, Chain, LogId, RawCertificate, parse};
use crate::certificate::{CODE_SIGNING, Certificate};
use crate::keys::ALGORITHMS;
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::escaped;
use jiff::Timestamp;
use rustls_pki_types::{CertificateDer, UnixTime};
use serde::Deserialize;
use std::time::Duration;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

/// The largest trusted root that is read, in bytes.
pub const MAX_ROOT: usize = 256 << 10;

const MEDIA_TYPES: [&str; 2] =
    ["application/vnd.dev.sigstore.trustedroot+json;version=0.1", "application/vnd.dev.sigstore.trustedroot.v0.2+json"];

/// The keys of certificate authorities, of logs and of timestamp authorities, with the times that they are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRoot {
    logs: Vec<Log>,
    certificate_logs: Vec<Log>,
    authorities: Vec<Authority>,
    timestamp_authorities: Vec<Authority>,
}

/// A log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) id: Vec<u8>,
    /// The id under which its checkpoints are signed, if it is another.
    pub(crate) checkpoint_id: Option<Vec<u8>>,
    pub(crate) key: Vec<u8>,
    valid: Period,
}

/// A certificate authority: its certificates, the root behind the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) certificates: Vec<CertificateDer<'static>>,
    valid: Period,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Period {
    start: Timestamp,
    end: Option<Timestamp>,
}

impl Period {
    fn has(self, time: Timestamp) -> bool {
        self.start <= time && self.end.is_none_or(|end| time <= end)
    }
}

impl TrustedRoot {
    /// Parses a trusted root.
    ///
    /// # Errors
    ///
    /// It is none, is too large, or has no certificate authority or no log.
    pub fn parse(json: &[u8]) -> Result<Self> {
        ensure!(json.len() <= MAX_ROOT, "it is larger than {} KiB", MAX_ROOT >> 10);
        let text = std::str::from_utf8(json).ok().context("it is not UTF-8")?;
        let json: Json = parse(text).context("it is not a trusted root of Sigstore")?;
        ensure!(
            MEDIA_TYPES.contains(&json.media_type.as_str()),
            "it has the media type `{}`, and a trusted root of Sigstore has `{}`",
            escaped(&json.media_type, 100),
            MEDIA_TYPES[0]
        );
        let root = Self {
            logs: json.tlogs.into_iter().filter_map(LogJson::read).collect(),
            certificate_logs: json.ctlogs.into_iter().filter_map(LogJson::read).collect(),
            authorities: json.certificate_authorities.into_iter().map(AuthorityJson::read).collect(),
            timestamp_authorities: json.timestamp_authorities.into_iter().map(AuthorityJson::read).collect(),
        };
        ensure!(!root.logs.is_empty(), "it has no log");
        ensure!(!root.certificate_logs.is_empty(), "it has no log of certificates");
        ensure!(!root.authorities.is_empty(), "it has no certificate authority");
        for authority in root.authorities.iter().chain(&root.timestamp_authorities) {
            let last = authority.certificates.last().context("an authority in it has no certificate")?;
            let anchor = anchor_from_trusted_cert(last);
            anchor.ok().context("a certificate in it is not understood")?;
        }
        Ok(root)
    }

    /// The transparency log with that id.
    pub(crate) fn log(&self, id: &[u8]) -> Option<&Log> {
        self.logs.iter().find(|log| log.id == id)
    }

    /// The key of the log of certificates with that id, at that time.
    pub(crate) fn certificate_log(&self, id: &[u8], time: Timestamp) -> Option<&[u8]> {
        let log = self.certificate_logs.iter().find(|log| log.id == id && log.valid.has(time));
        log.map(|log| log.key.as_slice())
    }

    /// Verifies that an authority has made the certificate, for signing code at that time. Returns the certificate above it.
    pub(crate) fn issuer(&self, certificate: &[u8], time: Timestamp) -> Result<CertificateDer<'static>> {
        let parts = Certificate::parse(certificate)?;
        parts.check_usage(CODE_SIGNING)?;
        let mut reason = Reason::Unknown;
        for authority in self.authorities.iter().filter(|authority| authority.valid.has(time)) {
            match authority.verify(certificate, CODE_SIGNING, time) {
                Ok(issuer) => return Ok(issuer),
                Err(found) => reason = reason.max(found),
            }
        }
        match reason {
            Reason::Time => bail!("its certificate was not valid at {time}, when it was signed"),
            Reason::Usage => bail!("its certificate is not for signing code"),
            Reason::Unknown => bail!("its certificate is by no certificate authority of the trusted root"),
        }
    }

    /// The timestamp authorities at that time.
    pub(crate) fn timestamp_authorities(&self, time: Timestamp) -> impl Iterator<Item = &Authority> {
        self.timestamp_authorities.iter().filter(move |authority| authority.valid.has(time))
    }
}

/// Why a certificate is refused; what says more is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    Unknown,
    Usage,
    Time,
}

impl Log {
    /// Whether its key is for that time.
    pub(crate) fn is_valid(&self, time: Timestamp) -> bool {
        self.valid.has(time)
    }
}

impl Authority {
    /// Verifies the chain of a certificate. Returns the certificate above it.
    pub(crate) fn verify(
        &self,
        certificate: &[u8],
        usage: &'static [u8],
        time: Timestamp,
    ) -> Result<CertificateDer<'static>, Reason> {
        let [between @ .., last] = self.certificates.as_slice() else { return Err(Reason::Unknown) };
        let certificate = CertificateDer::from(certificate);
        let leaf = EndEntityCert::try_from(&certificate).map_err(|_| Reason::Unknown)?;
        let anchors = [anchor_from_trusted_cert(last).map_err(|_| Reason::Unknown)?];
        let seconds = u64::try_from(time.as_second()).map_err(|_| Reason::Time)?;
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        // Those between leaf and root need not name the use.
        let usage = KeyUsage::required_if_present(usage);
        let path = leaf.verify_for_usage(ALGORITHMS, &anchors, between, time, usage, None, None);
        let path = path.map_err(|error| match error {
            webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. } => Reason::Time,
            webpki::Error::RequiredEkuNotFoundContext(_) => Reason::Usage,
            _ => Reason::Unknown,
        })?;
        let above = path.intermediate_certificates().next().map(|above| above.der());
        Ok(above.unwrap_or_else(|| last.clone()).into_owned())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    media_type: String,
    #[serde(default)]
    tlogs: Vec<LogJson>,
    #[serde(default)]
    certificate_authorities: Vec<AuthorityJson>,
    #[serde(default)]
    ctlogs: Vec<LogJson>,
    #[serde(default)]
    timestamp_authorities: Vec<AuthorityJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogJson {
    #[serde(default)]
    hash_algorithm: String,
    public_key: KeyJson,
    log_id: LogId,
    checkpoint_key_id: Option<LogId>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyJson {
    raw_bytes: Base64,
    key_details: String,
    valid_for: Period,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthorityJson {
    cert_chain: Chain,
    valid_for: Period,
}

impl LogJson {
    /// The log, if its key and its tree are of a kind that is known: a root may have others beside it.
    fn read(self) -> Option<Log> {
        let is_known = self.hash_algorithm == "SHA2_256" && self.public_key.key_details.starts_with("PKIX_");
        is_known.then(|| Log {
            id: self.log_id.key_id.0,
            checkpoint_id: self.checkpoint_key_id.map(|id| id.key_id.0),
            key: self.public_key.raw_bytes.0,
            valid: self.public_key.valid_for,
        })
    }
}

impl AuthorityJson {
    fn read(self) -> Authority {
        let certificate = |certificate: RawCertificate| CertificateDer::from(certificate.raw_bytes.0);
        Authority {
            certificates: self.cert_chain.certificates.into_iter().map(certificate).collect(),
            valid: self.valid_for,
        }
    }
}
