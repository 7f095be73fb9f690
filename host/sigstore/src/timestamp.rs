//! Timestamps of RFC 3161: an authority has seen a signature at some time.

use crate::certificate::{Certificate, TIME_STAMPING};
use crate::der::{self, GENERALIZED_TIME, INTEGER, OCTET_STRING, OID, Reader, SEQUENCE, SET};
use crate::keys::{any, digest_by};
use crate::root::TrustedRoot;
use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use webpki::EndEntityCert;

/// `1.2.840.113549.1.7.2`: signed data.
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
/// `1.2.840.113549.1.9.16.1.4`: the content of a timestamp.
const CONTENT: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
/// `1.2.840.113549.1.9.3`: the attribute with the type of the content.
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
/// `1.2.840.113549.1.9.4`: the attribute with the digest of the content.
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];

/// The most certificates in a timestamp that are tried.
const MAX_CERTIFICATES: usize = 8;

/// Verifies that a timestamp authority of the trusted root has seen the signature. Returns when.
pub(crate) fn verify(timestamp: &[u8], signature: &[u8], root: &TrustedRoot) -> Result<Timestamp> {
    let parts = Parts::read(timestamp).context("its timestamp is not understood")?;
    let info = Info::read(parts.content).context("its timestamp is not understood")?;
    ensure!(
        digest(info.algorithm, signature).is_some_and(|digest| digest == info.digest),
        "its timestamp is for another signature"
    );
    ensure!(
        digest(parts.digest_algorithm, parts.content).is_some_and(|digest| digest == parts.attributes.digest),
        "its timestamp has a content that is not signed"
    );
    // What is signed has the tag of a set.
    let signed = der::element(SET, parts.attributes.content);
    for authority in root.timestamp_authorities(info.time) {
        let own = authority.certificates.first().map(|first| first.as_ref());
        for certificate in own.into_iter().chain(parts.certificates.iter().copied()) {
            let is_for_timestamps =
                Certificate::parse(certificate).is_ok_and(|certificate| certificate.check_usage(TIME_STAMPING).is_ok());
            if !is_for_timestamps || authority.verify(certificate, TIME_STAMPING, info.time).is_err() {
                continue;
            }
            let certificate = CertificateDer::from(certificate);
            let Ok(leaf) = EndEntityCert::try_from(&certificate) else { continue };
            if any(|algorithm| leaf.verify_signature(algorithm, &signed, parts.signature)) {
                return Ok(info.time);
            }
        }
    }
    bail!("its timestamp is by no timestamp authority of the trusted root")
}

/// The digest by an algorithm with that id: SHA-256, SHA-384 or SHA-512.
fn digest(algorithm: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let (last, family) = algorithm.split_last()?;
    let name = match (family, last) {
        ([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02], 1) => "sha256",
        ([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02], 2) => "sha384",
        ([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02], 3) => "sha512",
        _ => return None,
    };
    digest_by(name, bytes)
}

/// The response of an authority, in its parts.
struct Parts<'a> {
    content: &'a [u8],
    certificates: Vec<&'a [u8]>,
    digest_algorithm: &'a [u8],
    attributes: Attributes<'a>,
    signature: &'a [u8],
}

impl<'a> Parts<'a> {
    fn read(response: &'a [u8]) -> Result<Self> {
        let mut response = der::only(response, SEQUENCE)?.reader();
        let status = response.expect(SEQUENCE)?.reader().expect(INTEGER)?.content;
        ensure!(matches!(status, [0 | 1]), "it was not granted");
        let mut token = response.expect(SEQUENCE)?.reader();
        ensure!(token.expect(OID)?.content == SIGNED_DATA, "it is not signed data");
        let mut data = der::only(token.expect(0xa0)?.content, SEQUENCE)?.reader();
        data.expect(INTEGER)?;
        data.expect(SET)?;
        let mut encapsulated = data.expect(SEQUENCE)?.reader();
        ensure!(encapsulated.expect(OID)?.content == CONTENT, "it is something else");
        let content = der::only(encapsulated.expect(0xa0)?.content, OCTET_STRING)?.content;
        let mut certificates = Vec::new();
        if let Some(list) = data.optional(0xa0)? {
            let mut list = list.reader();
            while !list.is_empty() {
                ensure!(certificates.len() < MAX_CERTIFICATES, "it has more than {MAX_CERTIFICATES} certificates");
                certificates.push(list.next()?.whole);
            }
        }
        data.optional(0xa1)?;
        let signers = data.expect(SET)?;
        let mut signer = der::only(signers.content, SEQUENCE)?.reader();
        signer.expect(INTEGER)?;
        // Who it is: the certificates are tried.
        signer.next()?;
        let digest_algorithm = signer.expect(SEQUENCE)?.reader().expect(OID)?.content;
        let attributes = Attributes::read(signer.expect(0xa0)?.content)?;
        signer.expect(SEQUENCE)?;
        let signature = signer.expect(OCTET_STRING)?.content;
        Ok(Self { content, certificates, digest_algorithm, attributes, signature })
    }
}

/// What is signed.
struct Attributes<'a> {
    content: &'a [u8],
    digest: &'a [u8],
}

impl<'a> Attributes<'a> {
    fn read(content: &'a [u8]) -> Result<Self> {
        let (mut digest, mut is_of_timestamp) = (None, false);
        let mut list = Reader::new(content);
        while !list.is_empty() {
            let mut attribute = list.expect(SEQUENCE)?.reader();
            let (oid, values) = (attribute.expect(OID)?.content, attribute.expect(SET)?.content);
            if oid == MESSAGE_DIGEST {
                ensure!(digest.is_none(), "it has two digests");
                digest = Some(der::only(values, OCTET_STRING)?.content);
            } else if oid == CONTENT_TYPE {
                is_of_timestamp = der::only(values, OID)?.content == CONTENT;
            }
        }
        ensure!(is_of_timestamp, "it is something else");
        Ok(Self { content, digest: digest.context("it has no digest")? })
    }
}

/// The content of a timestamp.
struct Info<'a> {
    algorithm: &'a [u8],
    digest: &'a [u8],
    time: Timestamp,
}

impl<'a> Info<'a> {
    fn read(content: &'a [u8]) -> Result<Self> {
        let mut info = der::only(content, SEQUENCE)?.reader();
        info.expect(INTEGER)?;
        info.expect(OID)?;
        let mut imprint = info.expect(SEQUENCE)?.reader();
        let algorithm = imprint.expect(SEQUENCE)?.reader().expect(OID)?.content;
        let digest = imprint.expect(OCTET_STRING)?.content;
        info.expect(INTEGER)?;
        Ok(Self { algorithm, digest, time: time(info.expect(GENERALIZED_TIME)?.content)? })
    }
}

/// `20260101120000Z`; fractions of a second are left out.
fn time(bytes: &[u8]) -> Result<Timestamp> {
    let text = std::str::from_utf8(bytes)?.strip_suffix('Z').context("it has a time that is none")?;
    let text = text.split_once('.').map_or(text, |(seconds, _)| seconds);
    ensure!(text.len() == 14 && text.bytes().all(|digit| digit.is_ascii_digit()), "it has a time that is none");
    let part = |from: usize, to: usize| &text[from..to];
    let text =
        format!("{}-{}-{}T{}:{}:{}Z", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 12), part(12, 14));
    Ok(text.parse()?)
}
