//! The certificate of a signer: whom it names, what it is for, and its parts for the log of certificates.

use crate::Signer;
use crate::der::{self, BIT_STRING, INTEGER, OCTET_STRING, OID, Reader, SEQUENCE, UTF8_STRING};
use crate::identity::MAX_IDENTITY;
use anyhow::{Context, Result, bail, ensure};

/// `2.5.29.15`: key usage.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
/// `2.5.29.17`: names of the subject.
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// `2.5.29.37`: extended key usage.
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
/// `1.3.6.1.4.1.11129.2.4.2`: timestamps of logs of certificates.
const CERTIFICATE_TIMESTAMPS: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xd6, 0x79, 0x02, 0x04, 0x02];
/// `1.3.6.1.4.1.57264.1.1`: Fulcio's issuer, as bytes.
const ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x01];
/// `1.3.6.1.4.1.57264.1.8`: the same, as a string of DER.
const ISSUER_STRING: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x08];

/// `1.3.6.1.5.5.7.3.3`: the use of signing code.
pub(crate) const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
/// `1.3.6.1.5.5.7.3.8`: the use of signing timestamps.
pub(crate) const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];

/// The most extensions that are read.
const MAX_EXTENSIONS: usize = 64;

/// A certificate, in its parts.
pub(crate) struct Certificate<'a> {
    /// All elements of what is signed, up to the extensions.
    before: Vec<&'a [u8]>,
    issuer: &'a [u8],
    subject: &'a [u8],
    /// The public key, with its algorithm.
    pub(crate) key: &'a [u8],
    extensions: Vec<Extension<'a>>,
}

struct Extension<'a> {
    oid: &'a [u8],
    value: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Certificate<'a> {
    pub(crate) fn parse(der: &'a [u8]) -> Result<Self> {
        Self::read(der).context("its certificate is not understood")
    }

    fn read(der: &'a [u8]) -> Result<Self> {
        let mut outer = der::only(der, SEQUENCE)?.reader();
        let mut signed = outer.expect(SEQUENCE)?.reader();
        outer.expect(SEQUENCE)?;
        outer.expect(BIT_STRING)?;
        outer.end()?;
        let mut before = Vec::new();
        before.extend(signed.optional(0xa0)?.map(|version| version.whole));
        let tags = [INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE];
        let parts = tags.map(|tag| signed.expect(tag).map(|element| element.whole));
        let [serial, algorithm, issuer, validity, subject, key] = parts;
        let (issuer, subject, key) = (issuer?, subject?, key?);
        before.extend([serial?, algorithm?, issuer, validity?, subject, key]);
        let mut extensions = Vec::new();
        if let Some(list) = signed.optional(0xa3)? {
            let mut list = der::only(list.content, SEQUENCE)?.reader();
            while !list.is_empty() {
                ensure!(extensions.len() < MAX_EXTENSIONS, "it has more than {MAX_EXTENSIONS} extensions");
                let extension = Extension::read(&mut list)?;
                ensure!(
                    extensions.iter().all(|known: &Extension<'_>| known.oid != extension.oid),
                    "it has an extension twice"
                );
                extensions.push(extension);
            }
        }
        signed.end()?;
        Ok(Self { before, issuer, subject, key, extensions })
    }

    fn extension(&self, oid: &[u8]) -> Option<&'a [u8]> {
        self.extensions.iter().find(|extension| extension.oid == oid).map(|extension| extension.value)
    }

    /// Whether its subject is its issuer.
    pub(crate) fn is_self_issued(&self) -> bool {
        self.issuer == self.subject
    }

    /// Whom it names.
    pub(crate) fn signer(&self) -> Result<Signer> {
        let names = self.extension(SUBJECT_ALTERNATIVE_NAME).context("its certificate names nobody")?;
        let mut names = der::only(names, SEQUENCE).context("its certificate names nobody")?.reader();
        let name = names.next().context("its certificate names nobody")?;
        ensure!(names.is_empty(), "its certificate names more than one identity");
        let identity = text(name.content)?;
        // Rules are texts: neither kind of name may look like the other.
        let is_known = match name.tag {
            0x81 => identity.contains('@') && !identity.contains("://"),
            0x86 => identity.contains("://"),
            _ => false,
        };
        ensure!(is_known, "its certificate names its subject neither by an e-mail address nor by a URI");
        let issuer = match (self.extension(ISSUER_STRING), self.extension(ISSUER)) {
            (Some(value), older) => {
                let issuer = der::only(value, UTF8_STRING)
                    .context("its certificate has an issuer that is not understood")?
                    .content;
                ensure!(older.is_none_or(|older| older == issuer), "its certificate names two issuers");
                issuer
            }
            (None, Some(issuer)) => issuer,
            (None, None) => bail!("its certificate does not say who has vouched for the identity"),
        };
        Ok(Signer { identity, issuer: text(issuer)?, time: None })
    }

    /// Checks that it is for signatures, and for that use.
    pub(crate) fn check_usage(&self, usage: &[u8]) -> Result<()> {
        let what = if usage == CODE_SIGNING { "code" } else { "timestamps" };
        let usages =
            self.extension(EXTENDED_KEY_USAGE).with_context(|| format!("its certificate is not for signing {what}"))?;
        let mut usages = der::only(usages, SEQUENCE)?.reader();
        let mut has_usage = false;
        while !usages.is_empty() {
            has_usage |= usages.expect(OID)?.content == usage;
        }
        ensure!(has_usage, "its certificate is not for signing {what}");
        // The first bit says that the key makes signatures.
        let bits = self.extension(KEY_USAGE).map(|value| der::only(value, BIT_STRING)).transpose()?;
        let bits = bits.and_then(|bits| bits.content.get(1).copied()).unwrap_or_default();
        ensure!(bits & 0x80 != 0, "its certificate is not for signatures");
        Ok(())
    }

    /// The timestamps of logs of certificates in it.
    pub(crate) fn certificate_timestamps(&self) -> Result<Option<&'a [u8]>> {
        let value = self.extension(CERTIFICATE_TIMESTAMPS);
        value.map(|value| Ok(der::only(value, OCTET_STRING)?.content)).transpose()
    }

    /// What a log of certificates has signed: it without these timestamps.
    pub(crate) fn without_timestamps(&self) -> Vec<u8> {
        let rest = self.extensions.iter().filter(|extension| extension.oid != CERTIFICATE_TIMESTAMPS);
        let extensions: Vec<u8> = rest.flat_map(|extension| extension.whole).copied().collect();
        let extensions = der::element(0xa3, &der::element(SEQUENCE, &extensions));
        let before = self.before.concat();
        der::element(SEQUENCE, &[before, extensions].concat())
    }
}

impl<'a> Extension<'a> {
    fn read(list: &mut Reader<'a>) -> Result<Self> {
        const BOOLEAN: u8 = 0x01;
        let extension = list.expect(SEQUENCE)?;
        let mut parts = extension.reader();
        let oid = parts.expect(OID)?.content;
        parts.optional(BOOLEAN)?;
        let value = parts.expect(OCTET_STRING)?.content;
        parts.end()?;
        Ok(Self { oid, value, whole: extension.whole })
    }
}

/// A name as text.
fn text(bytes: &[u8]) -> Result<String> {
    ensure!(
        !bytes.is_empty() && bytes.len() <= MAX_IDENTITY,
        "its certificate has a name that is empty, or longer than {MAX_IDENTITY} bytes"
    );
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control));
    text.map(str::to_owned).context("its certificate has a name that is not text")
}
