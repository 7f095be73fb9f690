//! Routes to model servers: direct, or through the environment's proxy.
//!
//! `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` are read as curl reads them, with two exceptions: servers on
//! this machine or in a private network are never reached through a proxy, and keys are sent over plain HTTP only to
//! this machine, unless the user allowed more.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use bub_redact::proxy_address;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind};

/// The proxies of the environment, read once.
static PROXIES: LazyLock<Matcher> = LazyLock::new(Matcher::from_system);

/// The route to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Without a proxy.
    Direct,
    /// Through the proxy at that address, which is shown without user and password.
    Proxy(String),
}

impl Route {
    /// The route to `url`. If a proxy applies, the host is resolved first; a name that cannot be resolved goes to the
    /// proxy.
    pub async fn to(url: &Url) -> Route {
        let Some(proxy) = url.as_str().parse::<Uri>().ok().and_then(|uri| PROXIES.intercept(&uri)) else {
            return Route::Direct;
        };
        if is_private(url).await { Route::Direct } else { Route::Proxy(proxy_address(&proxy.uri().to_string())) }
    }

    /// Whether there is no proxy.
    pub fn is_direct(&self) -> bool {
        *self == Route::Direct
    }
}

/// Rejects sending a key unencrypted over a network.
///
/// # Errors
///
/// [`ErrorKind::Config`], which names the setting that allows it.
pub(crate) fn check_key(endpoint: &Endpoint, carries_key: bool, insecure_http: bool) -> Result<(), Error> {
    let url = &endpoint.url;
    let carries_key = carries_key || url.password().is_some();
    if url.scheme() != "http" || insecure_http || !carries_key || is_this_machine(url) {
        return Ok(());
    }
    let (label, host) = (&endpoint.label, &endpoint.host);
    Err(Error::new(
        ErrorKind::Config,
        format!(
            "model `{label}`: the key would go to `{host}` unencrypted: use an `https` address, or set `insecure_http = true` in config.toml"
        ),
    ))
}

/// Whether `url` names this machine by a loopback address or as `localhost`.
pub fn is_this_machine(url: &Url) -> bool {
    match host(url) {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(name) => is_localhost(name),
    }
}

async fn is_private(url: &Url) -> bool {
    match host(url) {
        Ok(address) => is_private_address(address),
        Err(name) if is_localhost(name) => true,
        Err(name) => match tokio::net::lookup_host((name, 0)).await {
            Ok(mut addresses) => addresses.any(|address| is_private_address(address.ip())),
            Err(_) => false,
        },
    }
}

/// The IP address in `url`, or the name.
fn host(url: &Url) -> Result<IpAddr, &str> {
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| host)
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether an address is local or in a private network.
fn is_private_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            // RFC 6598: shared between a provider's customers, as overlay networks also use it.
            let is_shared = |address: Ipv4Addr| matches!(address.octets(), [100, 64..=127, ..]);
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
                || is_shared(address)
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_unspecified()
        }
    }
}
