//! TLS for clients and servers, with one implementation of cryptography.
//!
//! rustls takes its cryptography from a provider. reqwest expects that the process has chosen one, so clients are built
//! by [`client`] alone.

#![warn(missing_docs, unreachable_pub)]

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// A builder of an HTTP client. The first call chooses the provider of the process, unless the program that embeds this
/// crate has chosen one.
pub fn client() -> reqwest::ClientBuilder {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been faster: then its provider is used.
        let _ = ring::default_provider().install_default();
    }
    #[expect(clippy::disallowed_methods, reason = "the provider is chosen above")]
    reqwest::Client::builder()
}

/// The provider for servers.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// TLS for a client of another protocol than HTTP. The server's certificate is checked with the certificates in that PEM
/// file, or else with the system's.
///
/// # Errors
///
/// The file cannot be read or holds no certificate, or the system has none.
pub fn client_config(roots: Option<&Path>) -> io::Result<ClientConfig> {
    let failed = |error: rustls::Error| io::Error::other(error.to_string());
    let builder =
        ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().map_err(failed)?;
    let Some(path) = roots else {
        return Ok(builder.with_platform_verifier().map_err(failed)?.with_no_client_auth());
    };
    let named = |kind: ErrorKind, why: String| io::Error::new(kind, format!("`{}`: {why}", path.display()));
    let text = std::fs::read(path).map_err(|error| named(error.kind(), error.to_string()))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| named(ErrorKind::InvalidData, error.to_string()))?;
        store.add(certificate).map_err(|error| named(ErrorKind::InvalidData, error.to_string()))?;
    }
    if store.is_empty() {
        return Err(named(ErrorKind::InvalidData, "there is no certificate in it".to_owned()));
    }
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}
