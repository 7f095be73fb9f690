//! Whether a log of certificates has the certificate of the signer: the timestamps that RFC 6962 puts into it.

use crate::certificate::Certificate;
use crate::keys::{has_signed, sha256};
use crate::root::TrustedRoot;
use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;

/// The most timestamps that are tried.
const MAX_TIMESTAMPS: usize = 8;

/// Checks that a log of the trusted root has signed a timestamp for the certificate. `issuer`: the certificate above it.
pub(crate) fn verify(certificate: &Certificate<'_>, issuer: &[u8], root: &TrustedRoot) -> Result<()> {
    let missing = "its certificate is in no log of certificates";
    let list = certificate.certificate_timestamps().context(missing)?.context(missing)?;
    let mut list = Bytes(Bytes(list).long().context(missing)?);
    let issuer = Certificate::parse(issuer).ok().context("a certificate of the trusted root is not understood")?;
    // What the log has signed, before and behind its timestamp.
    let issuer = sha256(&[issuer.key]);
    let signed = certificate.without_timestamps();
    let length = (signed.len() as u32).to_be_bytes();
    let mut reason = missing;
    for _ in 0..MAX_TIMESTAMPS {
        if list.0.is_empty() {
            break;
        }
        let timestamp = CertificateTimestamp::parse(list.long().context(missing)?).context(missing)?;
        let Some(log) = root.certificate_log(timestamp.log, timestamp.time) else {
            reason = "its certificate is in a log of certificates that is not in the trusted root";
            continue;
        };
        let extensions = (timestamp.extensions.len() as u16).to_be_bytes();
        let message: [&[u8]; 8] = [
            // Version 1, a timestamp of a certificate.
            &[0, 0],
            &timestamp.milliseconds,
            // An entry that was made before the certificate.
            &[0, 1],
            &issuer,
            &length[1..],
            &signed,
            &extensions,
            timestamp.extensions,
        ];
        if has_signed(log, &message.concat(), timestamp.signature) {
            return Ok(());
        }
        reason = "its certificate has a timestamp that its log of certificates has not signed";
    }
    bail!(reason)
}

struct CertificateTimestamp<'a> {
    log: &'a [u8],
    milliseconds: [u8; 8],
    time: Timestamp,
    extensions: &'a [u8],
    signature: &'a [u8],
}

impl<'a> CertificateTimestamp<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut bytes = Bytes(bytes);
        ensure!(bytes.take(1)? == [0], "it is of another version");
        let log = bytes.take(32)?;
        let milliseconds: [u8; 8] = bytes.take(8)?.try_into()?;
        let extensions = bytes.long()?;
        // SHA-256, with RSA, ECDSA or Ed25519; the key says which.
        ensure!(matches!(bytes.take(2)?, [4, 1 | 3] | [8, 7]), "it is signed in another way");
        let signature = bytes.long()?;
        ensure!(bytes.0.is_empty(), "it has something behind its end");
        let time = Timestamp::from_millisecond(i64::from_be_bytes(milliseconds))?;
        Ok(Self { log, milliseconds, time, extensions, signature })
    }
}

/// Bytes in the encoding of TLS.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).context("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    /// Behind their length, in two bytes.
    fn long(&mut self) -> Result<&'a [u8]> {
        let length = self.take(2)?.try_into().map(u16::from_be_bytes)?;
        self.take(usize::from(length))
    }
}
