//! Name resolution with address checks.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name};

use crate::ip_scope::{IpScope, ip_scope};

/// A pending lookup.
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves names. The addresses are checked at every lookup.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of `name`, which is a lower-case ASCII name, not an address.
    fn resolve(&self, name: &str) -> LookupFuture;
}

/// The operating system's resolver; needs a tokio runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str) -> LookupFuture {
        let name = name.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// The resolver that connections use: it returns checked addresses only.
pub struct CheckedResolver {
    pub(crate) resolver: Arc<dyn Resolve>,
    /// Whether the names were granted exactly.
    pub(crate) local: bool,
}

impl CheckedResolver {
    /// A resolver for an HTTP client of its own. `local`: the user has named the host, so that it may be on a private
    /// network.
    pub fn new(resolver: impl Resolve, local: bool) -> CheckedResolver {
        CheckedResolver { resolver: Arc::new(resolver), local }
    }
}

impl reqwest::dns::Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> reqwest::dns::Resolving {
        let lookup = self.resolver.resolve(name.as_str());
        let local = self.local;
        Box::pin(async move {
            let addresses = lookup.await.map_err(LookupFailed)?;
            if addresses.is_empty() {
                return Err(LookupFailed(io::Error::new(io::ErrorKind::NotFound, "no address")).into());
            }
            // One forbidden address rejects the whole answer: such an answer is an attack.
            if !addresses.iter().all(|address| is_allowed(*address, local)) {
                return Err(AddressNotAllowed.into());
            }
            // With port 0 the connection uses the URL's port.
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// Whether a connection may go to `address`; `local` if the name was granted exactly, or the user has named the host.
pub fn is_allowed(address: IpAddr, local: bool) -> bool {
    match ip_scope(address) {
        IpScope::Public => true,
        IpScope::Local => local,
        IpScope::Special => false,
    }
}

/// A name resolves to a forbidden address. Found among the sources of a connection error.
#[derive(Debug)]
pub(crate) struct AddressNotAllowed;

impl fmt::Display for AddressNotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name resolves to a forbidden address")
    }
}

impl std::error::Error for AddressNotAllowed {}

/// A name could not be looked up.
#[derive(Debug)]
pub(crate) struct LookupFailed(io::Error);

impl fmt::Display for LookupFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name cannot be resolved")
    }
}

impl std::error::Error for LookupFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
