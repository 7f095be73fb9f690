//! TLS of `serve`: a certificate chain and its key, read again when the files change.

use anyhow::{Context, Result, ensure};
use bub_config::Config;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// The largest file of certificates or a key that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The TLS identity of the server.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Loads the configured identity. `None`: connections are not encrypted.
    ///
    /// # Errors
    ///
    /// A file cannot be read or parsed, other users can read or change the key, or the two do not belong together.
    pub fn load(config: &Config) -> Result<Option<Self>> {
        let Some(tls) = &config.serve.tls else { return Ok(None) };
        let home = |path: &PathBuf| config.home.join(path);
        let (certificate, key) = (home(&tls.certificate), home(&tls.key));
        let shown = |key: &str, path: &Path| format!("`serve.tls.{key}` of config.toml, `{}`", path.display());
        let chain = chain(&certificate).with_context(|| shown("certificate", &certificate))?;
        let secret = secret(&key).with_context(|| shown("key", &key))?;
        let config = ServerConfig::builder_with_provider(bub_tls::provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => anyhow::anyhow!("the key belongs to another certificate"),
                error => anyhow::anyhow!("the certificate or the key is invalid: {error}"),
            })
            .with_context(|| shown("key", &key))?;
        let mut config = config;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(Self(TlsAcceptor::from(Arc::new(config)))))
    }

    /// The files that [`Self::load`] reads.
    pub fn files(config: &Config) -> Vec<PathBuf> {
        let tls = config.serve.tls.as_ref();
        tls.map(|tls| vec![config.home.join(&tls.certificate), config.home.join(&tls.key)]).unwrap_or_default()
    }

    pub(super) fn acceptor(&self) -> &TlsAcceptor {
        &self.0
    }
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let pem = read(path)?.0;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem).collect::<Result<_, _>>().map_err(not_pem)?;
    ensure!(!chain.is_empty(), "it has no certificate: a file in PEM begins with `-----BEGIN CERTIFICATE-----`");
    Ok(chain)
}

fn secret(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let (pem, mode) = read(path)?;
    ensure!(mode & 0o027 == 0, "others can read or change it (mode {mode:o}): `chmod 600` it");
    if mode & 0o040 != 0 {
        tracing::warn!("the key in `{}` can be read by its group (mode {mode:o})", path.display());
    }
    PrivateKeyDer::from_pem_slice(&pem).map_err(not_pem)
}

/// The parser's message may quote the key, so it is dropped.
fn not_pem(_: rustls::pki_types::pem::Error) -> anyhow::Error {
    anyhow::anyhow!(
        "it is not PEM of this kind: a key begins with `-----BEGIN PRIVATE KEY-----`, a certificate with `-----BEGIN CERTIFICATE-----`"
    )
}

/// Reads a regular file and its permissions.
fn read(path: &Path) -> Result<(Vec<u8>, u32)> {
    // Opening a pipe would block.
    ensure!(fs::metadata(path)?.is_file(), "it is not a regular file");
    let file = File::open(path)?;
    let mode = file.metadata()?.mode() & 0o777;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MAX_BYTES, "it is longer than {}", bub_types::text::bytes(MAX_BYTES));
    Ok((bytes, mode))
}
