//! TLS for clients and servers, with one implementation of cryptography.
//!
//! rustls takes its cryptography from a provider. reqwest expects that the process has chosen one, so clients are built
//! by [`client`] alone.

#![warn(missing_docs, unreachable_pub)]

use rustls::crypto::{CryptoProvider, ring};
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
