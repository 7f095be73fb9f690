//! Hosts of URLs, normalized for comparison.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

/// Maximum length of a DNS name.
const MAX_NAME: usize = 253;

/// A name in lower-case ASCII without a trailing dot, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Host {
    Name(String),
    /// IPv4 also where it was written as IPv6.
    Address(IpAddr),
}

impl Host {
    /// The host of `url`; none if it has none, or one that cannot be looked up.
    pub(crate) fn from_url(url: &Url) -> Option<Host> {
        let text = url.host_str()?;
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inner.parse().ok().map(|address: IpAddr| Host::Address(address.to_canonical()));
        }
        // `localhost.` is `localhost`.
        let name = text.strip_suffix('.').unwrap_or(text);
        if let Ok(address) = name.parse() {
            return Some(Host::Address(address));
        }
        let good = name.len() <= MAX_NAME && name.split('.').all(|label| (1..=63).contains(&label.len()));
        good.then(|| Host::Name(name.to_ascii_lowercase()))
    }

    /// Whether the name always means this machine, whatever a resolver answers.
    pub(crate) fn is_localhost(&self) -> bool {
        match self {
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Address(_) => false,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}
