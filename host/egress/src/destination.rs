//! Where a connection of a program goes.

use std::fmt;

use bub_types::text::escaped;
use reqwest::Url;

use crate::error::Error;
use crate::host::Host;

/// The longest host that is looked at, in bytes.
const MAX_HOST: usize = 255;

/// A host and a port, normalized as in the URL standard: `0x7f.1` is `127.0.0.1`, and `EXAMPLE.com.` is `example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    pub(crate) host: Host,
    port: u16,
}

impl Destination {
    /// The destination that `host` names: a name, an IPv4 address in any notation, or an IPv6 address, with brackets or
    /// without.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it names no host, or if `port` is 0.
    pub fn new(host: &str, port: u16) -> Result<Destination, Error> {
        let wrong = || Error::Invalid(format!("`{}` is not the name of a host", escaped(host, 100)));
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "/\\?#@%<>^|".contains(c);
        if host.is_empty() || host.len() > MAX_HOST || host.contains(is_odd) {
            return Err(wrong());
        }
        if port == 0 {
            return Err(Error::Invalid(format!("`{}` is named with port 0", escaped(host, 100))));
        }
        let is_bare_v6 = !host.starts_with('[') && host.contains(':');
        let text = if is_bare_v6 { format!("https://[{host}]/") } else { format!("https://{host}/") };
        let url = Url::parse(&text).map_err(|_| wrong())?;
        // A `:` that is not within brackets would be a second port.
        if url.port().is_some() || text.ends_with(":/") || text.ends_with(":443/") {
            return Err(wrong());
        }
        Ok(Destination { host: Host::from_url(&url).ok_or_else(wrong)?, port })
    }

    /// Reads `HOST:PORT`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], where one of the two is missing or wrong.
    pub fn parse(text: &str) -> Result<Destination, Error> {
        let wrong = || Error::Invalid(format!("`{}` is not `HOST:PORT`", escaped(text, 100)));
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err(wrong());
        }
        let port = Some(port).filter(|_| is_number).and_then(|port| port.parse().ok()).ok_or_else(wrong)?;
        Destination::new(host, port)
    }

    /// The host of a URL, and its port or that of its scheme.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], where it has none.
    pub fn from_url(url: &Url) -> Result<Destination, Error> {
        let port = url.port_or_known_default().filter(|port| *port != 0);
        let found = Host::from_url(url).zip(port).map(|(host, port)| Destination { host, port });
        found.ok_or_else(|| Error::Invalid("the url names no host that can be looked up".to_owned()))
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host, an IPv6 address in brackets.
    pub fn host(&self) -> String {
        self.host.to_string()
    }

    /// Whether it is this machine or a private network by its own text: a name may still lead there.
    pub fn is_local(&self) -> bool {
        self.is_within(crate::IpScope::Local) || self.host.is_localhost()
    }

    /// Whether it is an address that only a written rule may name: link-local (cloud metadata services), multicast, or
    /// reserved.
    pub fn is_special(&self) -> bool {
        self.is_within(crate::IpScope::Special)
    }

    fn is_within(&self, scope: crate::IpScope) -> bool {
        matches!(self.host, Host::Address(address) if crate::ip_scope(address) == scope)
    }
}

/// As [`Destination::parse`] reads it.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}
