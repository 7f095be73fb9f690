//! The verification of a bundle, from its time to its signature.

use crate::body::{self, Expected};
use crate::bundle::{Content, MessageSignature, Version};
use crate::certificate::Certificate;
use crate::keys::{any, digest_by, hex};
use crate::root::Log;
use crate::{Bundle, Signer, TrustedRoot, log, statement, timestamp, transparency};
use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use rustls_pki_types::CertificateDer;
use webpki::EndEntityCert;

/// The most timestamps that are verified.
const MAX_TIMESTAMPS: usize = 4;

/// How far the clock of a log may be ahead of ours.
const MAX_AHEAD: SignedDuration = SignedDuration::from_hours(24);

impl Bundle {
    /// Verifies that whom the certificate names has signed the artifact, while an authority of the root vouched for them, and
    /// that a log of the root has it. Whether that is the wanted signer is another question.
    ///
    /// # Errors
    ///
    /// One line that says what is not so.
    pub fn verify(&self, artifact: &[u8], root: &TrustedRoot) -> Result<Signer> {
        let log =
            root.log(&self.entry.log_id.key_id).context("its log entry is of a log that is not in the trusted root")?;
        let times = self.times(log, root)?;
        self.verify_log(log, &times)?;
        let mut issuer = None;
        for time in &times {
            issuer = Some(root.issuer(&self.certificate, *time)?);
        }
        let issuer = issuer.context("its bundle has no time")?;
        let certificate = Certificate::parse(&self.certificate)?;
        transparency::verify(&certificate, &issuer, root)?;
        self.verify_content(artifact)?;
        Ok(Signer { time: times.first().copied(), ..self.claimed().clone() })
    }

    /// When it was signed, by the log's promise and by timestamps. The time in an entry without a promise is not signed.
    fn times(&self, log: &Log, root: &TrustedRoot) -> Result<Vec<Timestamp>> {
        let mut times = Vec::new();
        if let Some(promise) = &self.entry.inclusion_promise {
            times.push(log::verify_promise(&self.entry, promise, log)?);
        }
        ensure!(self.timestamps.len() <= MAX_TIMESTAMPS, "its bundle has more than {MAX_TIMESTAMPS} timestamps");
        for timestamp in &self.timestamps {
            times.push(timestamp::verify(timestamp, self.signature()?, root)?);
        }
        ensure!(
            !times.is_empty(),
            "its bundle does not prove when it was signed: it has neither a promise of the log nor a timestamp"
        );
        let latest = Timestamp::now().saturating_add(MAX_AHEAD)?;
        ensure!(times.iter().all(|time| *time <= latest), "its bundle was signed in the future");
        Ok(times)
    }

    fn verify_log(&self, log: &Log, times: &[Timestamp]) -> Result<()> {
        ensure!(
            times.iter().all(|time| log.is_valid(*time)),
            "its log entry is of a log whose key was not in use then, by the trusted root"
        );
        match &self.entry.inclusion_proof {
            // Bundles of the first version may have a promise alone; such a proof without a checkpoint proves nothing.
            Some(proof) if proof.checkpoint.is_none() && self.version == Version::First => {
                ensure!(self.entry.inclusion_promise.is_some(), "its log entry has neither a promise nor a checkpoint");
                Ok(())
            }
            Some(proof) => log::verify_proof(&self.entry, proof, log),
            None => {
                ensure!(
                    self.version == Version::First && self.entry.inclusion_promise.is_some(),
                    "its log entry has no proof that the log has it"
                );
                Ok(())
            }
        }
    }

    /// The signature by the key in the certificate.
    fn signature(&self) -> Result<&[u8]> {
        match &self.content {
            Content::Message(message) => Ok(&message.signature),
            Content::Envelope(envelope) => statement::signature(envelope),
        }
    }

    /// Checks that the bundle says of itself that it is for the artifact. That proves nothing.
    ///
    /// # Errors
    ///
    /// It is for other bytes.
    pub fn check_subject(&self, artifact: &[u8]) -> Result<()> {
        match &self.content {
            Content::Message(message) => message.check_digest(artifact),
            Content::Envelope(envelope) => statement::check(envelope, artifact),
        }
    }

    fn verify_content(&self, artifact: &[u8]) -> Result<()> {
        let certificate = CertificateDer::from(self.certificate.as_slice());
        let leaf = EndEntityCert::try_from(&certificate).ok().context("its certificate is not understood")?;
        self.check_subject(artifact)?;
        let encoded;
        let (signed, payload) = match &self.content {
            Content::Message(_) => (artifact, None),
            Content::Envelope(envelope) => {
                encoded = statement::signed_bytes(envelope);
                (encoded.as_slice(), Some(&*envelope.payload))
            }
        };
        let signature = self.signature()?;
        ensure!(
            any(|algorithm| leaf.verify_signature(algorithm, signed, signature)),
            "its signature is not by the key of its certificate, or not for these bytes"
        );
        body::check(&self.entry, &Expected { signed, payload, signature, certificate: &self.certificate })
    }
}

impl MessageSignature {
    /// Checks the digest of the artifact, if the bundle says it.
    fn check_digest(&self, artifact: &[u8]) -> Result<()> {
        let Some(said) = &self.message_digest else { return Ok(()) };
        let digest = digest_by(&said.algorithm, artifact).context("its digest is of an unknown kind")?;
        ensure!(
            digest == *said.digest,
            "its bundle is for other bytes: they have the digest {}, and it is for {}",
            hex(&digest),
            hex(&said.digest[..said.digest.len().min(64)])
        );
        Ok(())
    }
}
